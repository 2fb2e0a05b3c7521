"""Percentiles by the R-6 definition (Weibull), of anything sorted. Pure.

h = (n + 1)·p says where a percentile stands among n sorted values: at its whole part, and beyond it by
its fraction of the way to the next. Outside of 1 … n it is the least or the greatest value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor

_CURVE_STEPS = 60


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Of at least one value, in ascending order."""
    rank = _rank(len(ordered), percent)
    below = floor(rank)
    if below < 1:
        return ordered[0]
    if below >= len(ordered):
        return ordered[len(ordered) - 1]
    low, high = ordered[below - 1], ordered[below]
    # Where there is nothing to interpolate, rounding must not invent anything, and infinity not spoil it.
    return low if low == high or rank == below else min(low + (rank - below) * (high - low), high)


def percentiles(ordered: Sequence[float], percents: Iterable[float]) -> list[float]:
    return [percentile(ordered, percent) for percent in percents]


def percentile_count(count: int, percent: float) -> int:
    """How many of `count` values the percentile stands for: h rounded up, from 1 to `count`."""
    return max(1, min(ceil(_rank(count, percent)), count))


def curve(ordered: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Pairs of percent and value for drawing, each step as much nearer to 100 as the one before.

    The last but one is at n/(n + 1): beyond that, n values say nothing but their greatest.
    """
    if not ordered:
        return ()
    steps = min(_CURVE_STEPS, len(ordered))
    apart = len(ordered) + 1
    percents = [round(100 * (1 - apart ** (-step / steps)), 9) for step in range(steps + 1)]
    return tuple((percent, percentile(ordered, percent)) for percent in (*percents, 100.0))


def _rank(count: int, percent: float) -> float:
    """h. Rounded, so that a whole number is not missed by the last bit of a product."""
    return round((count + 1) * percent / 100, 9)
