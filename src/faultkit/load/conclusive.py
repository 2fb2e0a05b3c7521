"""Whether a run may be judged at all: was the load what was asked, and were the faults? Pure.

A run is inconclusive, neither passed nor failed, when our own side did not do what its figures claim.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.load.arrivals import arrival_count
from faultkit.load.evidence import LATE_S
from faultkit.load.load import Load
from faultkit.load.summary import Summary
from faultkit.proxy.lateness import Lateness

MOST_DROPPED = 0.01
"""Of all arrivals."""
MOST_LATE = 0.05
"""Of all starts."""
LEAST_SENT = 0.95
"""Of the schedule."""
LATE_RELEASE_MS = 2.0
LATE_RELEASE = 0.05
"""Of the smallest delay that was asked for."""
MOST_LATE_RELEASES = 0.05
"""Of all releases of the proxy."""


@dataclass(frozen=True, slots=True)
class Doubts:
    reasons: tuple[str, ...] = ()
    """Each alone makes the run inconclusive."""
    warnings: tuple[str, ...] = ()
    """The same shortcomings, where they are too small for that."""

    @property
    def conclusive(self) -> bool:
        return not self.reasons


def doubts(
    summary: Summary,
    load: Load | None,
    *,
    lateness: Lateness | None = None,
    least_delay_ms: float | None = None,
) -> Doubts:
    """`lateness`: how late the proxy released bytes. `least_delay_ms`: the smallest delay that the faults
    ask for, if they ask for any."""
    reasons: list[str] = []
    warnings: list[str] = []
    for problem, fatal in (
        _dropped(summary),
        _late(summary),
        _sent(summary, load),
        _proxy(lateness or Lateness(), least_delay_ms),
    ):
        if problem:
            (reasons if fatal else warnings).append(problem)
    return Doubts(tuple(reasons), tuple(warnings))


def doubts_about_baseline(baseline: Summary, load: Load | None) -> Doubts:
    """They weaken the impact, but not what was found with the faults: all of them are warnings."""
    found = doubts(baseline, load)
    return Doubts(warnings=tuple(f"Baseline: {text}" for text in (*found.reasons, *found.warnings)))


def _dropped(summary: Summary) -> tuple[str, bool]:
    dropped = summary.starts.dropped
    if not dropped:
        return "", False
    arrivals = summary.requests + dropped
    text = (
        f"{dropped} of {arrivals} arrivals ({dropped / arrivals:.1%}) were dropped: too many were under way."
    )
    return text, dropped > MOST_DROPPED * arrivals


def _late(summary: Summary) -> tuple[str, bool]:
    late = summary.starts.late
    if not late:
        return "", False
    text = (
        f"{late} of {summary.requests} requests ({late / summary.requests:.1%}) started more than "
        f"{LATE_S * 1000:g} ms late."
    )
    return text, late > MOST_LATE * summary.requests


def _sent(summary: Summary, load: Load | None) -> tuple[str, bool]:
    """Only an open load has a schedule to fall short of."""
    if load is None or load.model != "open":
        return "", False
    planned = arrival_count(load)
    if summary.requests >= LEAST_SENT * planned:
        return "", False
    share = summary.requests / planned
    return f"Only {summary.requests} of {planned} planned requests ({share:.1%}) were sent.", True


def _proxy(lateness: Lateness, least_delay_ms: float | None) -> tuple[str, bool]:
    """By the share of late releases: of a few dozen, one hiccup would be the 99th percentile."""
    limit_ms = max(LATE_RELEASE_MS, LATE_RELEASE * (least_delay_ms or 0.0))
    share = lateness.share_above(limit_ms * 1000)
    found = lateness.summary()
    p99_ms = found.p99_us / 1000
    if share == 0 or (share <= MOST_LATE_RELEASES and p99_ms <= limit_ms):
        return "", False
    text = (
        f"{round(share * found.count)} of {found.count} releases of the proxy ({share:.1%}) were more than "
        f"{limit_ms:g} ms late, the 99th percentile {p99_ms:.1f} ms."
    )
    return text, share > MOST_LATE_RELEASES
