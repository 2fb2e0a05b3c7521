"""Where a curve crosses its limit."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from faultkit.base.rng import Rng
from faultkit.load.search.crossing import Stretches, crossing_of, find_crossing, isotonic
from faultkit.load.search.search_values import Goal

GOAL = Goal(0.9, 300)


@pytest.mark.parametrize(
    ("figures", "rising"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 3, 2, 4], [1, 2.5, 2.5, 4]),
        ([3, 2, 1], [2, 2, 2]),
        ([1, inf, inf], [1, inf, inf]),
        ([], []),
    ],
)
def test_figures_are_made_monotone_by_the_mean_of_those_that_fall(
    figures: list[float], rising: list[float]
) -> None:
    assert isotonic(figures) == rising


@pytest.mark.parametrize(
    ("figures", "at"),
    [
        ([100, 200, 400], 1.5),
        ([100, 300, 400], 1.0),
        ([100, inf, inf], 0.0),
        ([400, 500, 600], None),
        ([100, 200, 300], None),
        ([100, 500, 299], 0.0 + 200 / 299.5),
    ],
)
def test_the_crossing_is_on_the_line_between_two_levels(figures: list[float], at: float | None) -> None:
    found = crossing_of([0, 1, 2], figures, 300)
    assert found == (at if at is None else pytest.approx(at))


def test_a_percentile_counts_each_stretch_as_often_as_its_weight() -> None:
    level = Stretches([[1, 2, 3, 4, 5], [6, 7, 8, 9, inf]], GOAL)
    assert level.percentile([1, 1]) == 9
    assert level.percentile([2, 0]) == 5
    assert level.percentile([0, 2]) == inf
    assert level.bad_share([1, 1]) == 0.1
    assert level.bad_share([0, 3]) == 0.2


def _level(random: Random, latency: float, failing: float = 0.0) -> Stretches:
    def time() -> float:
        return inf if random.random() < failing else latency + random.gauss(50, 10)

    return Stretches([[time() for _ in range(50)] for _ in range(20)], GOAL)


def test_an_interval_of_percentiles_holds_the_crossing_in_most_runs() -> None:
    positions, truth, held = [150.0, 200.0, 250.0, 300.0], 300 - 50 - 1.2816 * 10, 0
    for seed in range(8):
        random = Random(seed)
        levels = [_level(random, each) for each in positions]
        found = find_crossing(positions, levels, GOAL, 1.0, Rng.keyed("test", seed))
        assert found is not None
        assert found.interval.high - found.interval.low < 10
        held += found.interval.low <= truth <= found.interval.high
    assert held >= 7


def test_failures_are_compared_by_their_share() -> None:
    random, positions = Random(4), [0.0, 0.1, 0.2, 0.3]
    levels = [_level(random, 0, failing=each) for each in positions]
    found = find_crossing(positions, levels, GOAL, 1.0, Rng.keyed("test"))
    assert found is not None
    assert found.interval.low < 0.1 < found.interval.high


def test_requests_that_are_alike_for_long_make_the_interval_wider() -> None:
    random, positions = Random(5), [200.0, 300.0]
    levels = [_level(random, each) for each in positions]
    narrow, wide = (find_crossing(positions, levels, GOAL, alike, Rng.keyed("test")) for alike in (1.0, 50.0))
    assert narrow is not None
    assert wide is not None
    assert wide.interval.high - wide.interval.low > 1.3 * (narrow.interval.high - narrow.interval.low)
