"""How an agent waits between attempts: longer each time, and as long as it was asked to? Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, pstdev

from faultkit.agents.recovery.trace import CallMark, Trace

_EVEN = 1.0
"""Growth of waits that stay the same."""


@dataclass(frozen=True, slots=True)
class Backoff:
    waits_ms: tuple[float, ...]
    """Between the end of a failed attempt and the beginning of the next at the same tool."""
    growth: float | None
    """The mean ratio of a wait to the one before; None with fewer than two waits above 0."""
    jitter: float | None
    """The spread of the ratios around their mean, as a share of it: 0 for a clockwork."""
    asked: int
    """How often an answer said how long to wait."""
    obeyed: int
    """How often the next attempt came no sooner."""
    early_calls: int
    """Attempts inside a time for which they were asked to stay away."""

    @property
    def grows(self) -> bool:
        return self.growth is not None and self.growth > _EVEN


def backoff_of(trace: Trace) -> Backoff | None:
    """None: it never tried again, so there is nothing to say."""
    waits: list[float] = []
    ratios: list[float] = []
    asked = obeyed = early = 0
    for attempts in _by_tool(trace).values():
        series = [
            max(0.0, later.start_ms - earlier.end_ms)
            for earlier, later in pairwise(attempts)
            if earlier.failed and earlier.end_ms is not None
        ]
        waits += series
        ratios += [later / earlier for earlier, later in pairwise(series) if earlier > 0]
        for index, call in enumerate(attempts):
            if call.retry_after_ms is None or call.end_ms is None:
                continue
            until_ms = call.end_ms + call.retry_after_ms
            too_soon = sum(later.start_ms < until_ms for later in attempts[index + 1 :])
            asked += 1
            obeyed += too_soon == 0
            early += too_soon
    if not waits:
        return None
    growth = mean(ratios) if ratios else None
    jitter = pstdev(ratios) / growth if growth else None
    return Backoff(tuple(waits), growth, jitter, asked, obeyed, early)


def _by_tool(trace: Trace) -> dict[tuple[str, str], list[CallMark]]:
    found: dict[tuple[str, str], list[CallMark]] = {}
    for call in trace.calls:
        found.setdefault((call.server, call.tool), []).append(call)
    return found
