"""The summary of a run: counts, distributions, a timeline. Pure, plain data, shown by reports.

It is made of `RunEvidence`, which is the same whether each request was kept or only histograms. Evidence is
in seconds; a summary is in milliseconds, because people read it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from faultkit.base.histogram import Times, times_of
from faultkit.base.sample_statistics import (
    curve,
    design_effect,
    effective_count,
    percentile,
    percentile_count,
    percentile_interval,
    percentiles,
)
from faultkit.load.item_summary import LlmSummary, McpSummary, StreamSummary
from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.samples import Samples, Window, batches, grained, slice_width, windows

LATE_S = 0.01
"""A start later than this after its time is late."""

PARTS = ("dns", "connect", "tls", "first_byte")
"""The parts of a request, in the order in which they take place."""


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """What was measured, in seconds."""

    failures: Counter[int]
    """Requests by number of `Failure`, 0 (none) included."""
    statuses: Counter[int]
    """Requests by HTTP status, 0 (no answer) included."""
    received_bytes: int
    response: Times
    service: Times
    parts: dict[str, Times]
    lateness: Times
    late: int
    windows: Callable[[float, int], list[Window]]
    """Cuts the run into windows: width in seconds, and how many."""
    batches: Sequence[Window]
    """The run in the order of time, cut into about `BATCHES` windows of about as many requests each."""
    grain_s: float = 0.0
    """Windows are known in multiples of this only, in seconds; 0: any width."""

    @property
    def requests(self) -> int:
        return self.failures.total()


def evidence_of(samples: Samples) -> RunEvidence:
    """Return the evidence of requests that were all kept."""
    late_by = lateness_of(samples)
    return RunEvidence(
        failures=Counter(samples.failure),
        statuses=Counter(samples.status),
        received_bytes=sum(samples.received),
        response=times_of(samples.response_times()),
        service=times_of(samples.total_s),
        parts={name: times_of(part_of(samples, name)) for name in PARTS},
        lateness=times_of(late_by),
        late=late_count(late_by),
        windows=partial(windows, samples),
        batches=batches(samples, BATCHES),
    )


def lateness_of(samples: Samples) -> list[float]:
    """Return how late each request started, in seconds; 0 for a start before its time."""
    return [
        started - intended if started > intended else 0.0
        for intended, started in zip(samples.intended, samples.started, strict=True)
    ]


def late_count(lateness_s: list[float]) -> int:
    """Return how many requests started too late."""
    return sum([each > LATE_S for each in lateness_s])


def part_of(samples: Samples, name: str) -> list[float]:
    """Return the times of one part, of the requests that had it."""
    column: array[float] = getattr(samples, f"{name}_s")
    return [each for each in column if each == each]


BATCHES = 20
"""Windows for the design effect: few enough to be longer than a queue, and enough for a variance."""


def effective_for_mean(batches: Sequence[Window], stddev_s: float) -> float:
    """Return the effective number of requests for the mean response time."""
    count = _count(batches)
    if len(batches) < 2:
        return effective_count(count, count - 1)
    return _effective(batches, [each.sum_s for each in batches], stddev_s * stddev_s)


def effective_for_percentile(batches: Sequence[Window], value_s: float) -> float:
    """Return the effective number of requests for a percentile: that of the share of requests up to it."""
    return _for_share(batches, [bisect_right(each.response, value_s) for each in batches])


def effective_for_errors(batches: Sequence[Window]) -> float:
    """Return the effective number of requests for the share of errors."""
    return _for_share(batches, [each.errors for each in batches])


def _for_share(batches: Sequence[Window], hits: Sequence[int]) -> float:
    count = _count(batches)
    if len(batches) < 2:
        return count
    share = sum(hits) / count
    return _effective(batches, hits, share * (1 - share) * count / (count - 1))


def _effective(batches: Sequence[Window], sums: Sequence[float], variance: float) -> float:
    """Return the effective number of requests.

    `variance` is that of one request; the variance of the mean is estimated from the sums of the batches."""
    counts = [len(each.response) for each in batches]
    return effective_count(sum(counts), len(batches) - 1, design_effect(counts, sums, variance))


def _count(batches: Sequence[Window]) -> int:
    return sum(len(each.response) for each in batches)


# --- the summary -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of the measured times, with its confidence interval."""

    percent: float
    ms: float
    """Value by the R-6 definition."""
    count: int
    """Requests at or below it, as R-6 counts."""
    low_ms: float
    high_ms: float
    """95 % confidence, from order statistics; equal to the extremes when there are too few samples."""
    effective: float = 0.0
    """Number of independent requests that carry as much information about it."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of measured times. All zero when `count` is 0."""

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
    """Number of independent requests that carry as much information about the mean."""


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
    """The requests that were to start within one window of the run."""

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
    """Arrivals that were never sent: too many were under way, or this machine had no descriptor or port
    left."""
    late: int
    """Starts more than `LATE_S` after their time."""
    p50_ms: float
    p99_ms: float
    max_ms: float
    starved: int = 0
    """Those of the dropped for which this machine had no descriptor or port left."""


@dataclass(frozen=True, slots=True)
class Summary:
    """All figures of one run."""

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
    """Times from the intended start: what users wait, queueing included."""
    service: Distribution
    """Times from the real start: what the service took."""
    parts: tuple[Part, ...]
    timeline: tuple[Slice, ...]
    starts: Starts
    exact: bool = True
    """False: too many requests to keep each; figures are of a histogram of 3 digits."""
    errors_effective: float = 0.0
    """Number of independent requests that carry as much information about the share of errors."""
    stream: StreamSummary | None = None
    """For event streams only."""
    mcp: McpSummary | None = None
    """For calls of MCP tools only."""
    llm: LlmSummary | None = None
    """For requests to models only."""


PERCENTS = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)


def summary_of(
    evidence: RunEvidence, load: Load | None, *, dropped: int, total_s: float, starved: int = 0
) -> Summary:
    """Summarize the evidence of one run."""
    sending_s = sending_time(load, total_s)
    effective = _effective_counts(evidence)
    return Summary(
        requests=evidence.requests,
        errors=evidence.requests - evidence.failures[Failure.NONE],
        failures={
            Failure(number).label: count for number, count in sorted(evidence.failures.items()) if number
        },
        statuses={status: count for status, count in sorted(evidence.statuses.items()) if status},
        target_rps=_target_rps(load),
        achieved_rps=evidence.requests / sending_s if sending_s > 0 else 0.0,
        total_s=total_s,
        received_bytes=evidence.received_bytes,
        response=_distribution(evidence.response, effective),
        # Both kinds of times depend on each other alike: they differ only by how late the starts were.
        service=_distribution(evidence.service, effective),
        parts=tuple(_part(name, times) for name, times in evidence.parts.items() if times.ordered),
        timeline=_timeline(evidence, sending_s),
        starts=_starts(evidence, dropped, starved),
        exact=not evidence.grain_s,
        errors_effective=effective.errors,
    )


def sending_time(load: Load | None, total_s: float) -> float:
    """Return how long requests were sent: as planned, or until the run was cut short."""
    return total_s if load is None else min(load.duration_s, total_s)


@dataclass(frozen=True, slots=True)
class _EffectiveCounts:
    """Numbers of independent requests that carry as much information about each figure."""

    mean: float
    percentiles: tuple[float, ...]
    """In the order of `PERCENTS`."""
    errors: float


def _effective_counts(evidence: RunEvidence) -> _EffectiveCounts:
    response, batches = evidence.response, evidence.batches
    if not response.ordered:
        return _EffectiveCounts(0.0, (0.0,) * len(PERCENTS), 0.0)
    values_s = percentiles(response.ordered, PERCENTS)
    return _EffectiveCounts(
        effective_for_mean(batches, response.stddev_s),
        tuple(effective_for_percentile(batches, value_s) for value_s in values_s),
        effective_for_errors(batches),
    )


def _distribution(times: Times, counts: _EffectiveCounts) -> Distribution:
    ordered = times.ordered
    if not ordered:
        nothing = tuple(Percentile(percent, 0.0, 0, 0.0, 0.0) for percent in PERCENTS)
        return Distribution(0, 0.0, 0.0, 0.0, 0.0, nothing, ())
    return Distribution(
        count=len(ordered),
        min_ms=ordered[0] * 1000,
        max_ms=ordered[-1] * 1000,
        mean_ms=times.mean_s * 1000,
        stddev_ms=times.stddev_s * 1000,
        percentiles=tuple(
            _percentile(ordered, percent, effective)
            for percent, effective in zip(PERCENTS, counts.percentiles, strict=True)
        ),
        curve=tuple((percent, seconds * 1000) for percent, seconds in curve(ordered)),
        effective=counts.mean,
    )


def _percentile(ordered: Sequence[float], percent: float, effective: float) -> Percentile:
    low, high = percentile_interval(ordered, percent, effective)
    return Percentile(
        percent,
        ms=percentile(ordered, percent) * 1000,
        count=percentile_count(len(ordered), percent),
        low_ms=low * 1000,
        high_ms=high * 1000,
        effective=effective,
    )


def _part(name: str, times: Times) -> Part:
    middle, high = percentiles(times.ordered, (50, 95))
    return Part(
        name, len(times.ordered), times.mean_s * 1000, middle * 1000, high * 1000, times.ordered[-1] * 1000
    )


def _starts(evidence: RunEvidence, dropped: int, starved: int) -> Starts:
    ordered = evidence.lateness.ordered
    if not ordered:
        return Starts(dropped, 0, 0.0, 0.0, 0.0, starved)
    middle, high = percentiles(ordered, (50, 99))
    return Starts(dropped, evidence.late, middle * 1000, high * 1000, ordered[-1] * 1000, starved)


def _timeline(evidence: RunEvidence, sending_s: float) -> tuple[Slice, ...]:
    """Return the slices of the run. Those without requests are included, because a gap matters."""
    if not evidence.requests or sending_s <= 0:
        return ()
    width = grained(slice_width(sending_s), evidence.grain_s)
    # A last slice of a rounding error's width is no slice.
    count = max(1, ceil(round(sending_s / width, 6)))
    return tuple(
        _slice(window, min(width, sending_s - window.start_s)) for window in evidence.windows(width, count)
    )


def _slice(window: Window, width_s: float) -> Slice:
    ordered = window.response
    if not ordered:
        return Slice(window.start_s, width_s, 0, 0, 0.0, 0.0, 0.0)
    middle, high = percentiles(ordered, (50, 95))
    return Slice(
        window.start_s,
        width_s,
        requests=len(ordered),
        errors=window.errors,
        p50_ms=middle * 1000,
        p95_ms=high * 1000,
        max_ms=ordered[-1] * 1000,
    )


def _target_rps(load: Load | None) -> float | None:
    if load is None or load.rate_rps is None:
        return None
    return load.rate_rps * (1 - load.ramp_s / load.duration_s / 2)
