"""Samples, tallies and summaries for tests."""

from __future__ import annotations

from math import nan

from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.summary import Summary
from faultkit.load.tally import Tally


def row(
    intended: float = 0.0,
    took_s: float = 0.1,
    failure: Failure = Failure.NONE,
    late_s: float = 0.0,
    connect_s: float = nan,
) -> Sample:
    return Sample(
        intended,
        intended + late_s,
        took_s,
        first_byte_s=took_s / 2,
        connect_s=connect_s,
        status={Failure.NONE: 200, Failure.STATUS: 503}.get(failure, 0),
        failure=failure,
        received=100,
    )


def tally_of(*rows: Sample, limit: int = 1_000_000) -> Tally:
    tally = Tally(limit=limit)
    tally.add(Samples.of(rows))
    return tally


def summarize(samples: Samples, load: Load | None, *, dropped: int = 0, total_s: float) -> Summary:
    """Return the summary of a run with these requests."""
    tally = Tally(dropped)
    tally.add(samples)
    return tally.summary(load, total_s=total_s)
