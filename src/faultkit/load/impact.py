"""Impact: the difference that a fault makes, with its interval. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.sample_statistics import (
    Interval,
    bounds_percentile,
    difference_interval,
    mean_interval,
    proportion_interval,
)
from faultkit.load.summary import Percentile, Summary

COMPARED = (50.0, 95.0, 99.0)
"""The percentiles that are compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of the run with the fault, minus that of the run without."""

    name: str
    """`mean`, `p50`, `p95`, `p99` or `errors`."""
    unit: str
    """`ms`, or `%` (percentage points)."""
    baseline: float
    fault: float
    difference: float
    low: float
    high: float
    """95 % confidence. If 0 lies between `low` and `high`, the data do not show a difference."""
    enough: bool = True
    """False: too few independent requests to bound the figure. `low` and `high` are then of the measured
    values, with less than 95 % confidence."""

    @property
    def shown(self) -> bool:
        """Whether the data show that there is a difference."""
        return self.enough and not self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class _Figure:
    name: str
    unit: str
    value: float
    interval: Interval
    enough: bool = True


def impact(baseline: Summary, fault: Summary) -> tuple[Difference, ...]:
    """Return the differences of mean, p50, p95, p99 and share of errors; none if a run has no requests."""
    if not baseline.requests or not fault.requests:
        return ()
    return tuple(
        _difference(before, after) for before, after in zip(_figures(baseline), _figures(fault), strict=True)
    )


def _difference(before: _Figure, after: _Figure) -> Difference:
    low, high = difference_interval(before.value, before.interval, after.value, after.interval)
    return Difference(
        before.name,
        before.unit,
        baseline=before.value,
        fault=after.value,
        difference=after.value - before.value,
        low=low,
        high=high,
        enough=before.enough and after.enough,
    )


def _figures(summary: Summary) -> Iterator[_Figure]:
    yield _mean(summary)
    at = {each.percent: each for each in summary.response.percentiles}
    yield from (_percentile(at[percent]) for percent in COMPARED)
    share = summary.errors / summary.requests
    low, high = proportion_interval(share * summary.errors_effective, summary.errors_effective)
    yield _Figure("errors", "%", share * 100, Interval(low * 100, high * 100))


def _mean(summary: Summary) -> _Figure:
    response = summary.response
    if response.count < 2:
        return _Figure(
            "mean", "ms", response.mean_ms, Interval(response.min_ms, response.max_ms), enough=False
        )
    interval = mean_interval(response.mean_ms, response.stddev_ms, response.effective)
    return _Figure("mean", "ms", response.mean_ms, interval)


def _percentile(each: Percentile) -> _Figure:
    return _Figure(
        f"p{each.percent:g}",
        "ms",
        each.ms,
        Interval(each.low_ms, each.high_ms),
        enough=bounds_percentile(each.effective, each.percent),
    )
