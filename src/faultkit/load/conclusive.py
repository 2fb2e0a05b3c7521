"""Whether a run may be judged at all: was the load what was asked, and were the faults? Pure.

A run is inconclusive, neither passed nor failed, when our own side did not do what its figures claim.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.load.arrivals import arrival_count
from faultkit.load.evidence import LATE_S
from faultkit.load.load import Load
from faultkit.load.summary import Summary

MOST_DROPPED = 0.01
"""Of all arrivals."""
MOST_LATE = 0.05
"""Of all starts."""
LEAST_SENT = 0.95
"""Of the schedule."""
MOST_PROXY_LATENESS_MS = 2.0
MOST_PROXY_LATENESS = 0.05
"""Of the smallest delay that was asked for."""


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
    proxy_p99_ms: float = 0.0,
    least_delay_ms: float | None = None,
) -> Doubts:
    """`proxy_p99_ms`: the 99th percentile of how late the proxy released bytes. `least_delay_ms`: the
    smallest delay that the faults ask for, if they ask for any."""
    reasons: list[str] = []
    warnings: list[str] = []
    for problem, fatal in (
        _dropped(summary),
        _late(summary),
        _sent(summary, load),
        _proxy(proxy_p99_ms, least_delay_ms),
    ):
        if problem:
            (reasons if fatal else warnings).append(problem)
    return Doubts(tuple(reasons), tuple(warnings))


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


def _proxy(p99_ms: float, least_delay_ms: float | None) -> tuple[str, bool]:
    most_ms = max(MOST_PROXY_LATENESS_MS, MOST_PROXY_LATENESS * (least_delay_ms or 0.0))
    if p99_ms <= most_ms:
        return "", False
    return f"The proxy was {p99_ms:.1f} ms late at its 99th percentile; {most_ms:.1f} ms is acceptable.", True
