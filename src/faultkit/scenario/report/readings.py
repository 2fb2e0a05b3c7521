"""Figures read off a summary: a percentile that nobody asked for, the share of errors. Pure."""

from __future__ import annotations

from itertools import pairwise

from faultkit.load.summary import Distribution, Summary


def percentile_ms(distribution: Distribution, percent: float) -> float | None:
    """Read off the curve; None if there is nothing to read off."""
    if not distribution.count:
        return None
    known = sorted({*distribution.curve, *((each.percent, each.ms) for each in distribution.percentiles)})
    for (low, low_ms), (high, high_ms) in pairwise(known):
        if low <= percent <= high:
            return low_ms + (high_ms - low_ms) * ((percent - low) / (high - low) if high > low else 0.0)
    return distribution.max_ms if not known or percent > known[-1][0] else known[0][1]


def error_percent(summary: Summary) -> float:
    return 100 * summary.errors / summary.requests if summary.requests else 0.0
