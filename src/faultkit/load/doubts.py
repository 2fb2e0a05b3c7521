"""Doubts about a run: whether the load and the faults were as requested, so that its figures mean something.
Pure.

A run is inconclusive, neither passed nor failed, if this machine did not do what its figures claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from faultkit.base.text import count_of
from faultkit.load.late_margin import LateBy
from faultkit.load.load import Load, arrival_count
from faultkit.load.summary import LATE_S, Summary
from faultkit.proxy.data_plane import Lateness

MOST_DROPPED = 0.01
"""Largest share of all arrivals that may be dropped."""
MOST_LATE = 0.05
"""Largest share of all starts that may be late."""
LEAST_SENT = 0.95
"""Smallest share of the schedule that must be sent."""
LATE_RELEASE_MS = 2.0
LATE_RELEASE = 0.05
"""Lateness that matters, as a share of the smallest requested delay."""
MOST_LATE_RELEASES = 0.05
"""Largest share of the proxy's releases that may be late."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Reasons not to trust a run."""

    reasons: tuple[str, ...] = ()
    """Each of them makes the run inconclusive."""
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
    proxy_shortages: int = 0,
    lost: int = 0,
    is_decided: Callable[[LateBy], bool] = lambda late: False,
) -> Doubts:
    """Return what makes a run doubtful. `lateness`: how late the proxy released bytes. `least_delay_ms`: the
    smallest delay that the faults ask for, if any. `proxy_shortages`: how often the proxy had no descriptor
    left for a connection. `lost`: planned requests of lost workers; what that means for each objective is
    judged with it. `is_decided`: whether the verdict is the same with and
    without so much lateness; then lateness is no more than a warning."""
    reasons: list[str] = []
    warnings: list[str] = []
    lateness = lateness or Lateness()
    problems = [
        (*_dropped(summary), False),
        (*_proxy_shortages(proxy_shortages), False),
        (*_late(summary), True),
        (*_sent(summary, load, lost), False),
        (*_proxy(lateness, least_delay_ms), True),
    ]
    is_late = any(fatal and of_lateness for _, fatal, of_lateness in problems)
    harmless = is_late and is_decided(LateBy.of(summary, lateness.summary()))
    for problem, fatal, of_lateness in problems:
        if fatal and of_lateness and harmless:
            warnings.append(f"{problem} The verdict does not depend on it.")
        elif problem:
            (reasons if fatal else warnings).append(problem)
    return Doubts(tuple(reasons), tuple(warnings))


def doubts_about_baseline(baseline: Summary, load: Load | None, lost: int = 0) -> Doubts:
    """Return doubts about a baseline, all as warnings: they weaken the impact, not the figures under
    faults."""
    found = doubts(baseline, load, lost=lost)
    return Doubts(warnings=tuple(f"Baseline: {text}" for text in (*found.reasons, *found.warnings)))


def _dropped(summary: Summary) -> tuple[str, bool]:
    dropped, starved = summary.starts.dropped, summary.starts.starved
    if not dropped:
        return "", False
    arrivals = summary.requests + dropped
    causes = []
    if starved < dropped:
        causes.append("too many were under way")
    if starved:
        causes.append(
            f"this machine had no descriptor or port left{f' for {starved}' if starved < dropped else ''} "
            "(see `ulimit -n`)"
        )
    text = (
        f"{dropped} of {arrivals} arrivals ({dropped / arrivals:.1%}) were dropped: {', and '.join(causes)}."
    )
    return text, dropped > MOST_DROPPED * arrivals


def _proxy_shortages(count: int) -> tuple[str, bool]:
    if not count:
        return "", False
    missing = count_of(count, "connection")
    return f"The proxy lacks {missing}: this machine had no descriptor left (see `ulimit -n`).", True


def _late(summary: Summary) -> tuple[str, bool]:
    late = summary.starts.late
    if not late:
        return "", False
    text = (
        f"{late} of {summary.requests} requests ({late / summary.requests:.1%}) started more than "
        f"{LATE_S * 1000:g} ms late."
    )
    return text, late > MOST_LATE * summary.requests


def _sent(summary: Summary, load: Load | None, lost: int) -> tuple[str, bool]:
    """Only an open load has a schedule to fall short of; the workers that are left must keep their part."""
    if load is None or load.model != "open":
        return "", False
    planned = arrival_count(load) - lost
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
