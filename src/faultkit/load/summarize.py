"""From what was measured to a `Summary`: exact figures of samples, three digits of histograms. Pure.

Achieved and target rates are means over the time of sending, so that they can be compared: a ramp
lowers both, and answers that come in after the last request was sent lower neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from faultkit.base.intervals import percentile_interval
from faultkit.base.percentiles import curve, percentile, percentile_count, percentiles
from faultkit.load.dependence import effective_for_errors, effective_for_mean, effective_for_percentile
from faultkit.load.evidence import Evidence, evidence_of
from faultkit.load.failure import Failure
from faultkit.load.load import Load
from faultkit.load.samples import Samples
from faultkit.load.stretch import Stretch, grained, slice_width
from faultkit.load.summary import Distribution, Part, Percentile, Slice, Starts, Summary
from faultkit.load.times import Times

PERCENTS = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)


def summarize(samples: Samples, load: Load | None, *, dropped: int = 0, total_s: float) -> Summary:
    """Of requests that were all kept; `Tally.summary` is this for any number of them."""
    return summary_of(evidence_of(samples), load, dropped=dropped, total_s=total_s)


def summary_of(evidence: Evidence, load: Load | None, *, dropped: int, total_s: float) -> Summary:
    sending_s = sending_time(load, total_s)
    worth = _worth(evidence)
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
        response=_distribution(evidence.response, worth),
        # Either clock's times hang together alike: they differ by how late the starts were.
        service=_distribution(evidence.service, worth),
        parts=tuple(_part(name, times) for name, times in evidence.parts.items() if times.ordered),
        timeline=_timeline(evidence, sending_s),
        starts=_starts(evidence, dropped),
        exact=not evidence.grain_s,
        errors_effective=worth.errors,
    )


def sending_time(load: Load | None, total_s: float) -> float:
    """How long requests were sent: as planned, or until the run was cut short."""
    return total_s if load is None else min(load.duration_s, total_s)


@dataclass(frozen=True, slots=True)
class _Worth:
    """How many independent requests would tell as much about each figure."""

    mean: float
    percentiles: tuple[float, ...]
    """As `PERCENTS`."""
    errors: float


def _worth(evidence: Evidence) -> _Worth:
    response, batches = evidence.response, evidence.batches
    if not response.ordered:
        return _Worth(0.0, (0.0,) * len(PERCENTS), 0.0)
    values_s = percentiles(response.ordered, PERCENTS)
    return _Worth(
        effective_for_mean(batches, response.stddev_s),
        tuple(effective_for_percentile(batches, value_s) for value_s in values_s),
        effective_for_errors(batches),
    )


def _distribution(times: Times, worth: _Worth) -> Distribution:
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
            for percent, effective in zip(PERCENTS, worth.percentiles, strict=True)
        ),
        curve=tuple((percent, seconds * 1000) for percent, seconds in curve(ordered)),
        effective=worth.mean,
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


def _starts(evidence: Evidence, dropped: int) -> Starts:
    ordered = evidence.lateness.ordered
    if not ordered:
        return Starts(dropped, 0, 0.0, 0.0, 0.0)
    middle, high = percentiles(ordered, (50, 99))
    return Starts(dropped, evidence.late, middle * 1000, high * 1000, ordered[-1] * 1000)


def _timeline(evidence: Evidence, sending_s: float) -> tuple[Slice, ...]:
    """Slices without requests are in it too: a gap is news."""
    if not evidence.requests or sending_s <= 0:
        return ()
    width = grained(slice_width(sending_s), evidence.grain_s)
    # A last slice of a rounding error's width is no slice.
    count = max(1, ceil(round(sending_s / width, 6)))
    return tuple(
        _slice(stretch, min(width, sending_s - stretch.start_s))
        for stretch in evidence.stretches(width, count)
    )


def _slice(stretch: Stretch, width_s: float) -> Slice:
    ordered = stretch.response
    if not ordered:
        return Slice(stretch.start_s, width_s, 0, 0, 0.0, 0.0, 0.0)
    middle, high = percentiles(ordered, (50, 95))
    return Slice(
        stretch.start_s,
        width_s,
        requests=len(ordered),
        errors=stretch.errors,
        p50_ms=middle * 1000,
        p95_ms=high * 1000,
        max_ms=ordered[-1] * 1000,
    )


def _target_rps(load: Load | None) -> float | None:
    if load is None or load.rate_rps is None:
        return None
    return load.rate_rps * (1 - load.ramp_s / load.duration_s / 2)
