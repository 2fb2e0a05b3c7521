"""What a run came to: counts, distributions, a timeline. Plain data, made by `summarize`, shown by reports.

Times are milliseconds from here on, since that is what people read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Percentile:
    percent: float
    ms: float
    """By the R-6 definition."""
    count: int
    """How many requests are at or below it, as R-6 counts."""
    low_ms: float
    high_ms: float
    """95 % confidence, from order statistics; equal to the extremes when there are too few samples."""
    effective: float = 0.0
    """So many independent requests would tell as much about it."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """All zero when `count` is 0."""

    count: int
    min_ms: float
    max_ms: float
    mean_ms: float
    stddev_ms: float
    percentiles: tuple[Percentile, ...]
    """p25, p50, p75, p90, p95, p99, p99.9."""
    curve: tuple[tuple[float, float], ...]
    """Pairs of percent and ms, finer towards 100: for drawing."""
    effective: float = 0.0
    """So many independent requests would tell as much about the mean."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the requests that had it: dns, connect, tls, first_byte."""

    name: str
    count: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Slice:
    """The requests that were to start within one stretch of the run."""

    start_s: float
    width_s: float
    requests: int
    errors: int
    p50_ms: float
    p95_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Starts:
    """How well the load kept its own schedule. A closed load without a rate has none to keep; in one with a
    rate, only clients that were free at their tick can be late."""

    dropped: int
    """Arrivals that were never sent, because too many were under way."""
    late: int
    """Starts more than `LATE_S` after their time."""
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Summary:
    requests: int
    errors: int
    failures: dict[str, int]
    """By label of `Failure`; only those that occurred."""
    statuses: dict[int, int]
    target_rps: float | None
    achieved_rps: float
    total_s: float
    received_bytes: int
    response: Distribution
    """From the intended start: what users wait, queueing included."""
    service: Distribution
    """From the real start: what the service took."""
    parts: tuple[Part, ...]
    timeline: tuple[Slice, ...]
    starts: Starts
    exact: bool = True
    """False: too many requests to keep each; figures are of a histogram of 3 digits."""
    errors_effective: float = 0.0
    """So many independent requests would tell as much about the share of errors."""
