"""The frontier of two settings."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

import bench.frontier
import pytest

from faultkit.load.search.frontier import (
    Frontier,
    Grid,
    PairBlock,
    fewest_of_frontier,
    find_frontier,
    grid_of,
)
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Goal, Measured, SearchEnded

GOAL = Goal(0.9, 300)
SIZE = 7
GRID = grid_of(Scale(0, 600), Scale(0, 600), SIZE)


def _run(
    answer: Callable[[float, float], Callable[[Random], float]],
    budget: int = 20_000,
    grid: Grid = GRID,
    asked: list[PairBlock] | None = None,
) -> Frontier:
    run = find_frontier(grid, [GOAL], budget)
    random, block = Random(1), next(run)
    while True:
        if asked is not None:
            asked.append(block)
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
    assert (found.outcome, found.reason) == ("found", "")
    for row in found.rows:
        for pair in row:
            assert pair.decision == ("held" if sum(pair.values) <= 200 else "broken")


def test_most_pairs_follow_from_others() -> None:
    found = _run(_sum)
    seen = [pair for row in found.rows for pair in row if pair.seen is not None]
    assert len(seen) < SIZE * SIZE / 2
    assert len(seen) <= GRID.most_measured
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


def test_a_service_that_is_broken_without_harm_is_broken_already() -> None:
    found = _run(lambda first, second: lambda random: inf)
    assert (found.outcome, found.requests) == ("already_broken", 600)
    assert found.rows[0][0].decision == "broken"


def test_pairs_that_contradict_each_other_are_inconclusive() -> None:
    """More harm may not help: here the first setting repairs what the second breaks."""
    found = _run(lambda first, second: lambda random: 500.0 if second > first else 1.0)
    assert found.outcome == "inconclusive"
    assert "contradict" in found.reason


def test_a_search_that_is_stopped_keeps_what_it_has() -> None:
    run = find_frontier(GRID, [GOAL], 5000)
    block = next(run)
    run.send(Measured(([1.0] * block.requests,), block.requests))
    with pytest.raises(StopIteration) as stopped:
        run.throw(SearchEnded("stopped"))
    assert stopped.value.value.reason == "stopped"
    assert stopped.value.value.rows[0][0].decision == "held"


def test_a_service_that_holds_everywhere_holds() -> None:
    found = _run(lambda first, second: lambda random: 1.0)
    assert (found.outcome, found.reason) == ("holds", "")
    assert {pair.decision for row in found.rows for pair in row} == {"held"}


def test_a_harmless_pair_at_the_objective_wants_a_larger_budget() -> None:
    found = _run(lambda first, second: lambda random: inf if random.random() < 0.1 else 1.0, 6000)
    assert found.outcome == "inconclusive"
    assert found.reason == "The pair of both harmless ends could not be decided."
    assert found.wanted is not None
    assert found.wanted >= 12_000
    assert found.requests == 600


def test_a_frontier_of_which_no_side_is_broken_is_inconclusive() -> None:
    """The harmless pair is clear, and all others are at the objective."""
    found = _run(lambda first, second: lambda random: inf if random.random() < 0.1 * (first > 0) else 1.0)
    assert found.outcome == "inconclusive"
    assert "No pair is shown to be broken" in found.reason


def test_the_smallest_budget_decides_a_clear_frontier_and_less_says_what_is_missing() -> None:
    def answer(first: float, second: float) -> Callable[[Random], float]:
        return lambda random: 1.0 if first + second <= 400 else inf

    fewest = fewest_of_frontier(GRID, [GOAL])
    found = _run(answer, fewest)
    assert (found.outcome, found.reason) == ("found", "")
    assert found.requests <= fewest
    assert all(pair.decision != "undecided" for row in found.rows for pair in row)
    short = _run(answer, fewest // 2)
    assert (short.outcome, short.reason[:20]) == ("found", "The budget was spent")
    assert short.requests <= fewest // 2


def test_a_block_has_the_map_so_far_and_the_corners_come_last() -> None:
    asked: list[PairBlock] = []
    found = _run(_sum, asked=asked)
    assert asked[0].known == (("undecided",) * SIZE,) * SIZE
    assert asked[-1].known == tuple(tuple(pair.decision for pair in row) for row in found.rows)
    corners = [block.cell for block in asked[-4:]]
    assert corners == [(0, 0), (0, SIZE - 1), (SIZE - 1, 0), (SIZE - 1, SIZE - 1)]
    assert [block.spent for block in asked] == sorted(block.spent for block in asked)


def test_a_grid_has_no_value_twice_and_none_closer_than_means_something() -> None:
    grid = grid_of(Scale(1, 5, whole=True), Scale(0, 10, resolution=5))
    assert grid == Grid((1, 2, 3, 4, 5), (0, 5, 10))
    assert (grid.pairs, grid.most_measured, grid.harmful) == (15, 15, (4, 2))
    assert grid_of(Scale(1000, 10, "log"), Scale(0, 1), 3) == Grid((1000, 100, 10), (0, 0.5, 1))


def test_a_grid_may_have_two_values_of_each_setting() -> None:
    found = _run(_sum, grid=Grid((0, 600), (0, 100)))
    decisions = [[pair.decision for pair in row] for row in found.rows]
    assert decisions == [["held", "held"], ["broken", "broken"]]


def test_the_smallest_budget_grows_with_the_objective() -> None:
    assert fewest_of_frontier(GRID, [Goal(0.99, 300)]) > fewest_of_frontier(GRID, [Goal(0.9, 300)])


@pytest.mark.parametrize("shape", [0, 2, 5])
def test_no_pair_of_a_simulated_service_is_decided_wrongly(shape: int) -> None:
    """Smooth, a cliff, and slow for whole stretches; `bench.frontier` has more of each."""
    found = bench.frontier.ours(shape, 3)
    assert (found.wrong, found.is_conclusive) == (0, True)
    assert found.undecided < GRID.pairs * 2 / 3
    assert found.requests <= bench.frontier.BUDGET


def test_what_is_left_of_the_budget_goes_to_pairs_that_are_close_to_a_decision() -> None:
    """Pairs at which 13 % are bad need more requests than each has at first."""

    def answer(first: float, second: float) -> Callable[[Random], float]:
        bad = 0.0 if first + second <= 200 else 0.13 if first + second <= 300 else 1.0
        return lambda random: inf if random.random() < bad else 1.0

    asked: list[PairBlock] = []
    found = _run(answer, 60_000, asked=asked)
    assert all(pair.decision != "undecided" for row in found.rows for pair in row)
    cells = [block.cell for block in asked[:-4]]
    assert any(cell in cells[: at - 1] and cells[at - 1] != cell for at, cell in enumerate(cells) if at)
