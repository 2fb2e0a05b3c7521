"""The frontier of two settings."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

import pytest

from faultkit.load.search.frontier import Frontier, fewest_of_frontier, find_frontier, most_pairs
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Goal, Measured, SearchEnded

GOAL = Goal(0.9, 300)
SIZE = 7


def _run(answer: Callable[[float, float], Callable[[Random], float]], budget: int = 20_000) -> Frontier:
    run = find_frontier(Scale(0, 600), Scale(0, 600), [GOAL], budget, SIZE)
    random, block = Random(1), next(run)
    while True:
        time = answer(*block.values)
        times = [time(random) for _ in range(block.requests)]
        try:
            block = run.send(Measured((times,), block.requests))
        except StopIteration as end:
            found: Frontier = end.value
            return found


def _sum(first: float, second: float) -> Callable[[Random], float]:
    return lambda random: first + second + random.gauss(40, 5)


def test_pairs_are_decided_as_their_sum_demands() -> None:
    found = _run(_sum)
    assert found.reason == ""
    for row in found.rows:
        for pair in row:
            assert pair.decision == ("held" if sum(pair.values) <= 200 else "broken")


def test_most_pairs_follow_from_others() -> None:
    found = _run(_sum)
    seen = [pair for row in found.rows for pair in row if pair.seen is not None]
    assert len(seen) < SIZE * SIZE / 2
    assert len(seen) <= most_pairs(SIZE)
    assert found.requests > sum(pair.seen.requests for pair in seen if pair.seen is not None)


def test_a_pair_at_the_objective_stays_undecided() -> None:
    def answer(first: float, second: float) -> Callable[[Random], float]:
        at_objective = first + second == 200
        return lambda random: (
            inf if random.random() < (0.1 if at_objective else first + second > 200) else 1.0
        )

    found = _run(answer)
    undecided = {pair.values for row in found.rows for pair in row if pair.decision == "undecided"}
    assert undecided == {(0, 200), (100, 100), (200, 0)}


def test_a_service_that_is_broken_without_harm_is_inconclusive() -> None:
    found = _run(lambda first, second: lambda random: inf)
    assert "is broken" in found.reason
    assert found.rows[0][0].decision == "broken"


def test_pairs_that_contradict_each_other_are_inconclusive() -> None:
    """More harm may not help: here the first setting repairs what the second breaks."""
    found = _run(lambda first, second: lambda random: 500.0 if second > first else 1.0)
    assert "contradict" in found.reason


def test_a_search_that_is_stopped_keeps_what_it_has() -> None:
    run = find_frontier(Scale(0, 1), Scale(0, 1), [GOAL], 5000, SIZE)
    block = next(run)
    run.send(Measured(([1.0] * block.requests,), block.requests))
    with pytest.raises(StopIteration) as stopped:
        run.throw(SearchEnded("stopped"))
    assert stopped.value.value.reason == "stopped"
    assert stopped.value.value.rows[0][0].decision == "held"


def test_the_smallest_budget_grows_with_the_objective() -> None:
    assert fewest_of_frontier([Goal(0.99, 300)]) > fewest_of_frontier([Goal(0.9, 300)])
