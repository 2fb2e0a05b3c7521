"""docs/metrics.md defines every figure of a run, in the order of the code, and its example holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from textwrap import indent
from typing import get_args

import pytest

from faultkit.agents.execute.expectations import run_document
from faultkit.agents.matchers.target import resolve
from faultkit.agents.recovery.metrics import Backoff, RecoveryMetrics, RecoveryPath, ToolMisuse
from faultkit.agents.report.row_facts import recovery_figures
from tests.agents.execute.suite_runs import HEAD, row, run, verdicts, write
from tests.measure.test_docs import DOCS, blocks_of

PAGE = DOCS / "metrics.md"
TEXT = PAGE.read_text("utf-8")
GATED = "agents: [{ name: a, agent: retrying, inject: [back], recovery: { max_detection_ms: 3000 } }]\n"


def names_in(heading: str) -> list[str]:
    """Return the first column of the table below a heading."""
    section = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    (table,) = [part for part in section if part.startswith(f"{heading}\n")]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def names_of(figures: Iterable[object]) -> list[str]:
    return [getattr(each, "name", str(each)) for each in figures]


@pytest.mark.parametrize(
    ("heading", "figures"),
    [("metrics", RecoveryMetrics), ("metrics.backoff", Backoff), ("tool_misuse", ToolMisuse)],
)
def test_the_page_defines_every_metric(heading: str, figures: type) -> None:
    assert names_in(heading) == names_of(fields(figures))


def test_the_page_defines_every_figure_of_the_gate_and_every_path(tmp_path: Path) -> None:
    (scored,) = row(run(write(tmp_path, HEAD + GATED)), "a (recovery)").runs
    assert names_in("recovery") == list(recovery_figures(scored))
    document = run_document(scored.trace, scored.metrics, scored.gate, None)
    intro = TEXT.partition("## recovery")[2].partition("| name")[0]
    for name in re.findall(r"`(\w+)`", intro.partition("are also")[0]):
        resolve(f"recovery.{name}", document)
    assert all(f"`{path}`" in TEXT for path in get_args(RecoveryPath))


def test_the_gates_of_the_page_hold_for_an_agent_that_retries(tmp_path: Path) -> None:
    (block,) = [block for block in blocks_of(PAGE) if block.language == "yaml"]
    early = "  - {target: metrics.backoff.early_calls, exact: 0}\n"
    assert early in block.text
    gate = "    recovery: {max_detection_ms: 3000}\n"
    test = f"  - name: a\n    agent: retrying\n    inject: [back]\n{gate}{indent(block.text, '    ')}"
    results = run(write(tmp_path, f"{HEAD}agents:\n{test}"))
    assert verdicts(results) == {"a": "passed", "a (recovery)": "passed"}
