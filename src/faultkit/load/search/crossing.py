"""Where a curve crosses its limit, with an interval, from measurements at a few levels. Pure.

At each level the requests are cut into stretches. The figure of a level is the percentile of its times, or
the share of its bad requests where times are infinite at that percentile. Figures are made monotone (isotonic
regression), and joined by straight lines. The interval is by bootstrap over stretches (Efron 1979, in blocks
as Künsch 1989), because requests close to each other are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isinf, sqrt
from statistics import NormalDist

from faultkit.base.rng import Rng
from faultkit.base.sample_statistics import CONFIDENCE, Interval, t_quantile
from faultkit.load.search.search_values import Goal

REPLICATES = 400
_TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where the curve crosses its limit."""

    position: float
    interval: Interval


class Stretches:
    """The times of one level, sorted once, so that a percentile of any mix of its stretches is cheap."""

    def __init__(self, stretches: Sequence[Sequence[float]], goal: Goal) -> None:
        self.once = [1] * len(stretches)
        """The weights that take each stretch once."""
        self.requests = sum(map(len, stretches))
        self._sizes = [len(each) for each in stretches]
        self._bad = [sum(not goal.is_good(time) for time in each) for each in stretches]
        self._share = goal.share
        self._descending = sorted(
            ((time, number) for number, each in enumerate(stretches) for time in each), reverse=True
        )

    def percentile(self, weights: Sequence[int]) -> float:
        """Return the goal's percentile of the times, each stretch taken as often as its weight says."""
        total = sum(size * weight for size, weight in zip(self._sizes, weights, strict=True))
        beyond = total - ceil(self._share * total)
        for time, number in self._descending:
            beyond -= weights[number]
            if beyond < 0:
                return time
        return self._descending[-1][0]

    def bad_share(self, weights: Sequence[int]) -> float:
        """Return the share of bad requests, likewise."""
        total = sum(size * weight for size, weight in zip(self._sizes, weights, strict=True))
        return sum(bad * weight for bad, weight in zip(self._bad, weights, strict=True)) / total


def find_crossing(
    positions: Sequence[float], levels: Sequence[Stretches], goal: Goal, alike: float, rng: Rng
) -> Crossing | None:
    """Return where the goal is crossed, or None if the levels do not reach from one side to the other.

    `alike` is how many requests in a row carry the information of one."""
    figure, limit = figure_of(levels, goal)
    found = crossing_of(positions, [figure(level, level.once) for level in levels], limit)
    if found is None:
        return None
    replicates = sorted(
        _nearest_crossing(
            positions, [figure(level, _resampled(len(level.once), rng)) for level in levels], limit
        )
        for _ in range(REPLICATES)
    )
    skipped = int(_TAIL * REPLICATES)
    low, high = replicates[skipped], replicates[-1 - skipped]
    wider = _wider(levels, alike)
    return Crossing(
        found, Interval(found - wider * max(found - low, 0.0), found + wider * max(high - found, 0.0))
    )


def _wider(levels: Sequence[Stretches], alike: float) -> float:
    """Return by how much the interval of a bootstrap is too narrow, because stretches are few and short."""
    count = min(len(level.once) for level in levels)
    length = min(level.requests for level in levels) / count
    few = t_quantile(1 - _TAIL, count - 1) / NormalDist().inv_cdf(1 - _TAIL)
    # The variance of a sample of n is (n - 1)/n of the true one, and neighbouring stretches are still alike.
    return few * sqrt(count / (count - 1)) / sqrt(1 - min(alike / length, 1.0) / 2)


def _nearest_crossing(positions: Sequence[float], figures: Sequence[float], limit: float) -> float:
    """Return the crossing, or the end of the levels that is nearest to it."""
    found = crossing_of(positions, figures, limit)
    if found is not None:
        return found
    return positions[0] if figures[0] > limit else positions[-1]


def figure_of(
    levels: Sequence[Stretches], goal: Goal
) -> tuple[Callable[[Stretches, Sequence[int]], float], float]:
    """Return the figure to compare, and its limit: the percentile, or the bad share if that is infinite."""
    if isinf(goal.limit) or any(isinf(level.percentile(level.once)) for level in levels):
        return Stretches.bad_share, 1 - goal.share
    return Stretches.percentile, goal.limit


def crossing_of(positions: Sequence[float], figures: Sequence[float], limit: float) -> float | None:
    """Return where the monotone line through the figures crosses the limit; None if it does not."""
    rising = isotonic(figures)
    if rising[0] > limit or rising[-1] <= limit:
        return None
    upper = next(number for number, figure in enumerate(rising) if figure > limit)
    low, high = rising[upper - 1], rising[upper]
    if isinf(high):
        return positions[upper - 1]
    part = (limit - low) / (high - low)
    return positions[upper - 1] + part * (positions[upper] - positions[upper - 1])


def isotonic(figures: Sequence[float]) -> list[float]:
    """Return the closest sequence that never falls: neighbours that do are replaced by their mean."""
    groups: list[tuple[float, int]] = []
    for figure in figures:
        mean, size = figure, 1
        while groups and groups[-1][0] > mean:
            before, count = groups.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        groups.append((mean, size))
    return [mean for mean, size in groups for _ in range(size)]


def _resampled(count: int, rng: Rng) -> list[int]:
    weights = [0] * count
    for _ in range(count):
        weights[rng.below(count)] += 1
    return weights
