"""Whether a block of a search can be trusted: the same doubts as those about a load. Pure.

A block in doubt is measured again, so a doubt counts only if it could have made a request good or bad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultkit.load.doubts import doubts
from faultkit.load.late_margin import BOTH_WAYS, LateBy, Limits, is_decided
from faultkit.load.load import Load
from faultkit.load.search.search_values import Goal
from faultkit.load.tally import Tally
from faultkit.proxy.data_plane import Lateness


@dataclass(frozen=True, slots=True)
class MeasuredBlock:
    """What a load of a search measured."""

    tally: Tally
    load: Load
    total_s: float
    times_ms: Sequence[float]
    """In the order of the intended starts; infinite for failed requests."""
    late_ms: Sequence[float]
    """How late each of them started, in the same order."""
    lateness: Lateness
    """How late the proxy released bytes meanwhile."""
    least_delay_ms: float | None
    """The smallest delay that the faults ask for, if any."""
    timeout_ms: float
    """The time after which a call is given up."""
    shortages: int = 0
    """How often the proxy had no descriptor left meanwhile."""
    lost: int = 0
    """Workers that were lost."""


def why_in_doubt(block: MeasuredBlock, goals: Sequence[Goal]) -> str | None:
    """Return why a block must be measured again; None if it counts."""
    if block.lost:
        return "A worker was lost."
    if not block.times_ms:
        return "No request was sent."
    summary = block.tally.summary(block.load, total_s=block.total_s)
    starts = summary.starts
    dropped = 0
    if starts.dropped and not starts.starved and is_broken_anyhow(block, goals):
        # The service was overwhelmed. Whatever had become of those requests, an objective is missed.
        dropped, summary = starts.dropped, replace(summary, starts=replace(starts, dropped=0))
    found = doubts(
        summary,
        block.load,
        lateness=block.lateness,
        least_delay_ms=block.least_delay_ms,
        proxy_shortages=block.shortages,
        lost=dropped,
        is_decided=lambda late: _is_same_without(block, goals, late),
    )
    return " ".join(found.reasons) or None


def is_broken_anyhow(block: MeasuredBlock, goals: Sequence[Goal]) -> bool:
    """Return whether an objective is missed even if all arrivals that were dropped had been good."""
    dropped = block.tally.dropped
    total = len(block.times_ms) + dropped
    return any(sum(map(goal.is_good, block.times_ms)) + dropped < goal.share * total for goal in goals)


def _is_same_without(block: MeasuredBlock, goals: Sequence[Goal], late: LateBy) -> bool:
    """Return whether no request was made bad by its late start, and by that much lateness of releases."""
    released_ms = BOTH_WAYS * late.release_ms
    for time, late_ms in zip(block.times_ms, block.late_ms, strict=True):
        without = time - late_ms - released_ms
        if any(goal.is_good(without) and not goal.is_good(time) for goal in goals):
            return False
    summary = block.tally.summary(block.load, total_s=block.total_s)
    limits = Limits(timeout_ms=block.timeout_ms, missed=True)
    return is_decided(limits, late, summary, block.tally, block.load.duration_s, block.load)
