"""Percentiles by the R-6 definition (Weibull), of anything sorted. Pure.

The rank of a percentile among n sorted values is h = (n + 1)·p; between two ranks, values are interpolated.
Outside of 1 … n it is the least or the greatest value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor

_CURVE_STEPS = 60


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of at least one value; values are in ascending order."""
    rank = _rank(len(ordered), percent)
    below = floor(rank)
    if below < 1:
        return ordered[0]
    if below >= len(ordered):
        return ordered[len(ordered) - 1]
    low, high = ordered[below - 1], ordered[below]
    # Equal values and whole ranks need no interpolation, which could round, or give nan for infinite values.
    return low if low == high or rank == below else min(low + (rank - below) * (high - low), high)


def percentiles(ordered: Sequence[float], percents: Iterable[float]) -> list[float]:
    """Return several percentiles of the same values."""
    return [percentile(ordered, percent) for percent in percents]


def percentile_count(count: int, percent: float) -> int:
    """Return how many of `count` values are at or below the percentile: h rounded up, from 1 to `count`."""
    return max(1, min(ceil(_rank(count, percent)), count))


def curve(ordered: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return pairs of percent and value for drawing; each step shrinks the distance to 100 by one factor.

    The last but one is at n/(n + 1): beyond it, n values determine only their maximum.
    """
    if not ordered:
        return ()
    steps = min(_CURVE_STEPS, len(ordered))
    apart = len(ordered) + 1
    percents = [round(100 * (1 - apart ** (-step / steps)), 9) for step in range(steps + 1)]
    return tuple((percent, percentile(ordered, percent)) for percent in (*percents, 100.0))


def _rank(count: int, percent: float) -> float:
    """Return h, rounded so that a whole number is not missed by the last bit of a product."""
    return round((count + 1) * percent / 100, 9)
