"""A few thousand mutated messages; `python -m tests.mcp.fuzz` sends a hundred thousand on each transport."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from faultkit.mcp.wire.message import read
from tests.mcp.fuzz import http_mutator as http_games
from tests.mcp.fuzz.fuzz_runs import RUNS, Run
from tests.mcp.fuzz.message_mutator import mutated

MESSAGES = 2000
SEED = "tests"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_mutated_messages_break_nothing_and_legal_ones_are_answered(run: Run) -> None:
    wanted = int(MESSAGES * run.share)
    figures = run.go(wanted, SEED)
    assert figures.messages >= wanted
    assert figures.legal == figures.messages // 50


def test_the_shares_of_each_transport_add_up_to_one() -> None:
    for transport in ("stdio", "http"):
        assert sum(run.share for run in RUNS if run.transport == transport) == pytest.approx(1.0)


def test_the_same_seed_makes_the_same_messages() -> None:
    first, second = random.Random(SEED), random.Random(SEED)
    assert [mutated(first) for _ in range(200)] == [mutated(second) for _ in range(200)]
    assert http_games.request(first, 1, "s") == http_games.request(second, 1, "s")
    assert http_games.answer(first) == http_games.answer(second)


def test_many_mutated_messages_get_past_the_first_check() -> None:
    """A message that is refused at once tests little."""
    rng = random.Random(SEED)
    kinds = Counter(read(mutated(rng)).kind for _ in range(5000))
    assert set(kinds) == {"request", "notification", "response", "batch", "invalid"}
    assert kinds["invalid"] < 3700
    assert 700 < kinds["request"] < 3000
