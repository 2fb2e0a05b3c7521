"""The money of all runs, of a suite and of the command line: a run gets what is left, then none is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.suite.agent_interface import Purse
from tests.agents.execute.suite_runs import HEAD, run, verdicts, write
from tests.agents.kinds.provider_turns import environment, turn
from tests.llm.scripted_provider import ScriptedServer

ONE_DOLLAR = (400_000, 0)
"""Tokens of the prompt and of the answer that cost a dollar at the price of gpt-4o."""


def suite_of(count: int, keys: str = "") -> str:
    tests = "".join(
        f"  - {{ name: t{number}, model: gpt-4o, prompt: go, expect: [{{ contains: done }}] }}\n"
        for number in range(count)
    )
    return f"{HEAD}{keys}agents:\n{tests}"


@pytest.mark.parametrize(
    ("limit", "keys"),
    [
        (1.5, ""),
        (9.0, "budget: { per_suite_usd_cents: 150 }\n"),
        (None, "budget: { per_suite_usd_cents: 150 }\n"),
    ],
)
def test_a_run_gets_what_is_left_and_then_no_other_is_run(
    tmp_path: Path, server: ScriptedServer, limit: float | None, keys: str
) -> None:
    server.play(*[turn("openai", "done", tokens=ONE_DOLLAR) for _ in range(3)])
    results = run(
        write(tmp_path, suite_of(3, keys)),
        env=environment("openai", server.url),
        parallel=1,
        purse=Purse(limit),
    )
    assert verdicts(results) == {"t0": "passed", "t1": "error", "t2": "error"}
    assert [row.message for row in results.rows] == [
        "",
        "ended early: the money for all runs (--max-cost, per_suite_usd_cents) is used up",
        "not run: the money for all runs (--max-cost, per_suite_usd_cents) is used up",
    ]
    assert len(server.requests) == 2


def test_what_is_left_is_the_least_of_both_purses() -> None:
    outer = Purse(3.0)
    inner = Purse(2.0, outer)
    inner.spend(1.5)
    assert (outer.spent, inner.left, outer.left) == (1.5, 0.5, 1.5)
    outer.spend(1.25)
    assert (inner.left, Purse(None, outer).left, Purse().left) == (0.25, 0.25, None)
