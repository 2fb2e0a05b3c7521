"""The search for the breaking point, on simulated services whose breaking point is known."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

import pytest
from bench.breaking_point import search
from bench.breaking_shapes import SHAPES, Shape

from faultkit.load.search.breaking_point import fewest_of_search, find_breaking_point, most_levels
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Block, BreakingPoint, Goal, Measured

SCALE = Scale(0, 400, resolution=0.5)
GOAL = Goal(0.95, 300)


def _run(
    answer: Callable[[Block], list[float]], *, budget: int = 6000, goals: tuple[Goal, ...] = (GOAL,)
) -> tuple[BreakingPoint, list[Block]]:
    """Run a search with the times that `answer` gives for each block; all goals get the same."""
    run, blocks = find_breaking_point(SCALE, goals, budget), []
    block = next(run)
    while True:
        blocks.append(block)
        try:
            block = run.send(Measured((answer(block),) * len(goals), block.requests))
        except StopIteration as end:
            return end.value, blocks


def _shifted(base: float, seed: int = 1) -> Callable[[Block], list[float]]:
    random = Random(seed)
    return lambda block: [block.value + random.gauss(base, 10) for _ in range(block.requests)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("seed", [1000, 1001])
def test_the_bracket_holds_the_truth(shape: Shape, seed: int) -> None:
    found = search(shape, seed)
    assert found.outcome == "found"
    assert found.held is not None
    assert found.broken is not None
    assert found.held <= shape.truth <= found.broken
    assert found.is_cliff is (shape.name == "cliff")
    assert (found.estimate is None) is (shape.name == "cliff")


def test_an_estimate_lies_inside_its_interval_and_the_bracket() -> None:
    found, _ = _run(_shifted(100))
    assert found.estimate is not None
    low, high = found.estimate.interval
    assert found.held is not None
    assert found.broken is not None
    truth = 300 - 100 - 1.645 * 10
    assert found.held <= low <= found.estimate.value <= high <= found.broken
    assert low <= truth <= high


def test_a_service_that_misses_its_objective_without_harm_is_already_broken() -> None:
    found, blocks = _run(_shifted(350))
    assert (found.outcome, found.held, found.broken) == ("already_broken", None, 0)
    assert {block.value for block in blocks} == {0}


def test_a_service_that_keeps_its_objective_at_the_harmful_end_holds() -> None:
    found, _ = _run(lambda block: [50.0] * block.requests)
    assert (found.outcome, found.held, found.broken) == ("holds", 400, None)


def test_an_end_at_the_objective_is_not_decided_and_names_a_larger_budget() -> None:
    random = Random(7)
    found, _ = _run(lambda block: [inf if random.random() < 0.05 else 1.0 for _ in range(block.requests)])
    assert found.outcome == "inconclusive"
    assert "harmless end" in found.reason
    assert found.wanted is not None
    assert found.wanted >= 12_000


def test_a_service_that_gets_slower_meanwhile_is_inconclusive() -> None:
    random, blocks = Random(8), []

    def answer(block: Block) -> list[float]:
        blocks.append(block)
        slower = 60 if block.phase == "estimate" else 0
        return [block.value + slower + random.gauss(100, 10) for _ in range(block.requests)]

    found, _ = _run(answer, budget=20_000)
    assert found.outcome == "inconclusive"
    assert found.estimate is None


def test_a_service_that_recovers_no_more_contradicts_itself() -> None:
    """A breaker that stays open: once it was broken, everything fails."""
    random, tripped = Random(9), []

    def answer(block: Block) -> list[float]:
        if block.phase == "estimate" and block.value > 150:
            tripped.append(block)
        if tripped:
            return [inf] * block.requests
        return [block.value + random.gauss(100, 10) for _ in range(block.requests)]

    assert _run(answer)[0].outcome == "inconclusive"


def test_the_goal_that_breaks_first_is_named() -> None:
    found, _ = _run(_shifted(100), goals=(Goal(0.95, 300), Goal(0.5, 150)), budget=12_000)
    assert found.goal == 1
    assert found.estimate is not None
    assert found.estimate.interval.low <= 50 <= found.estimate.interval.high


def test_answers_that_fail_by_degrees_have_an_estimate() -> None:
    random = Random(10)
    found, _ = _run(
        lambda block: [inf if random.random() < block.value / 2000 else 1.0 for _ in range(block.requests)],
        goals=(Goal(0.95),),
    )
    assert found.outcome == "found"
    assert not found.is_cliff
    assert found.estimate is not None
    assert found.estimate.interval.low <= 100 <= found.estimate.interval.high


def _falls_at(value: float, *, rough: bool = False) -> Callable[[Block], list[float]]:
    """Every request fails from a value on, as with a time-out. `rough`: some fail at the lowest value around
    the bracket, too."""

    def answer(block: Block) -> list[float]:
        is_rough = rough and block.held is not None and 0 < block.value < block.held
        return [
            inf if block.value >= value or (is_rough and number % 5 == 0) else 10.0
            for number in range(block.requests)
        ]

    return answer


def test_a_cliff_is_seen_by_its_two_sides_if_the_estimate_fails() -> None:
    found, blocks = _run(_falls_at(150, rough=True))
    assert blocks[-1].phase == "estimate"
    assert (found.outcome, found.is_cliff, found.estimate) == ("found", True, None)
    assert found.held is not None
    assert found.broken is not None
    assert found.held < 150 <= found.broken


def test_a_wide_bracket_is_not_called_a_cliff() -> None:
    found, _ = _run(_falls_at(150), budget=fewest_of_search(SCALE, [GOAL]))
    assert (found.held, found.broken) == (0, 400)
    assert (found.is_cliff, found.estimate) == (False, None)
    found, _ = _run(_falls_at(150), budget=1300)
    assert (found.held, found.broken) == (0, 200)
    assert (found.is_cliff, found.estimate) == (False, None)
    assert "a larger budget" in found.reason


def test_levels_that_vary_by_degrees_are_no_cliff_without_an_estimate() -> None:
    """The two sides of a narrow bracket differ by chance: only what is certain counts as a rise."""

    def answer(block: Block) -> list[float]:
        if block.phase == "estimate":
            return [1000.0] * block.requests
        return [block.value + (number * 37 % 101) for number in range(block.requests)]

    found, blocks = _run(answer, budget=12_000)
    assert blocks[-1].phase == "estimate"
    assert not found.is_cliff


def test_the_bracket_only_closes_and_the_budget_is_kept() -> None:
    found, blocks = _run(_shifted(100))
    held = [block.held for block in blocks if block.held is not None]
    broken = [block.broken for block in blocks if block.broken is not None]
    assert held == sorted(held)
    assert broken == sorted(broken, reverse=True)
    assert found.requests == sum(block.requests for block in blocks)
    assert found.requests <= 6000 * 1.01
    assert len({block.value for block in blocks if block.phase != "estimate"}) <= most_levels(SCALE)


def test_the_same_seed_asks_for_the_same_blocks() -> None:
    assert _run(_shifted(100))[1] == _run(_shifted(100))[1]


def test_the_harmless_end_is_among_the_levels_of_the_estimate() -> None:
    _, blocks = _run(_shifted(100))
    values = [block.value for block in blocks if block.phase == "estimate"]
    assert 0 in values
    assert values != sorted(values)


def test_a_search_downwards_finds_the_same() -> None:
    random, scale = Random(11), Scale(400, 0)
    run = find_breaking_point(scale, [GOAL], 6000)
    block = next(run)
    while True:
        times = [400 - block.value + random.gauss(100, 10) for _ in range(block.requests)]
        try:
            block = run.send(Measured((times,), block.requests))
        except StopIteration as end:
            found: BreakingPoint = end.value
            break
    assert found.held is not None
    assert found.broken is not None
    assert found.held > 400 - 183.55 > found.broken
    assert found.estimate is not None
    assert found.estimate.interval.low < found.estimate.interval.high


def test_the_smallest_budget_decides_the_gates_of_a_clear_service() -> None:
    budget = fewest_of_search(SCALE, [GOAL])
    found, _ = _run(_shifted(100), budget=budget)
    assert found.held is not None
    assert found.broken is not None
