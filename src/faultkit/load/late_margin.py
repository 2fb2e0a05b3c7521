"""Whether lateness of this machine could have changed a verdict. Pure.

Lateness only makes response times longer. So an objective that was kept would have been kept without it,
and one that was missed counts unless lateness could be all that it was missed by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.slo import Slo, judge_all
from faultkit.load.summary import Summary
from faultkit.load.tally import Tally
from faultkit.proxy.data_plane import LatenessSummary

BOTH_WAYS = 2
"""A request and its answer can both be released late."""
LIMITS_OF_SERVICES_MS = 100.0
"""Releases later than this may have hit time limits inside the service, which nothing here knows."""


@dataclass(frozen=True, slots=True)
class LateBy:
    """How much of the response times may be this machine's own lateness."""

    usual_ms: float
    """For figures of many requests: the 99th percentiles, of starts and of releases."""
    call_ms: float
    """For each request from its real start: the highest, of releases."""
    release_ms: float
    """The 99th percentile of one release."""

    @classmethod
    def of(cls, summary: Summary, released: LatenessSummary) -> LateBy:
        """Return the lateness of a run."""
        release_ms = released.p99_us / 1000
        return cls(
            summary.starts.p99_ms + BOTH_WAYS * release_ms, BOTH_WAYS * released.max_us / 1000, release_ms
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that a verdict depends on."""

    slos: Sequence[Slo] = ()
    call_ms: float | None = None
    """The time in which each call must be answered, if any."""
    timeout_ms: float = float("inf")
    """The time after which a call is given up."""
    missed: bool = False
    """Whether a call or an objective missed its limit."""


def is_decided(
    limits: Limits, late: LateBy, summary: Summary, tally: Tally, run_s: float, load: Load | None
) -> bool:
    """Return whether the verdict is the same with and without that lateness."""
    if limits.missed and summary.errors and late.release_ms > LIMITS_OF_SERVICES_MS:
        return False
    if limits.missed and summary.failures.get(Failure.TIMEOUT.label):
        # Answers shortly before the limit: some of the timeouts may be late answers.
        answered = tally.windows(max(run_s, 1.0), 1)[0].answered
        if answered and answered[-1] * 1000 >= limits.timeout_ms - late.usual_ms:
            return False
    if limits.call_ms is not None and 0 < summary.service.max_ms - limits.call_ms <= late.call_ms:
        return False
    timed = [slo for slo in limits.slos if not slo.is_share and not slo.is_rate and slo.threshold is not None]
    looser = [replace(slo, threshold=(slo.threshold or 0.0) + late.usual_ms) for slo in timed]
    measured, without = (
        [result.passed for result in judge_all(slos, tally, run_s, load)] for slos in (timed, looser)
    )
    return measured == without
