"""Figures of many calls: how many, how many failed, how long they took. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from faultkit.load.percentile import percentiles

PERCENTS = (50.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class ToolStats:
    tool: str
    """Empty for all of them."""
    calls: int
    errors: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float

    @property
    def error_rate(self) -> float:
        return self.errors / self.calls if self.calls else 0.0

    def document(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "errors": self.errors,
            "error_rate": self.error_rate,
            "mean_ms": self.mean_ms,
            "p50_ms": self.p50_ms,
            "p95_ms": self.p95_ms,
            "p99_ms": self.p99_ms,
        }


@dataclass(frozen=True, slots=True)
class Stats:
    all: ToolStats
    tools: tuple[ToolStats, ...] = ()
    """By name."""
    first_us: int | None = None
    last_us: int | None = None

    @property
    def calls_per_s(self) -> float:
        """Between the first and the last of them; 0 where there is no between."""
        if self.first_us is None or self.last_us is None or self.first_us == self.last_us:
            return 0.0
        return (self.all.calls - 1) / ((self.last_us - self.first_us) / 1e6)


@dataclass(slots=True)
class _Seen:
    errors: int = 0
    times_ms: list[float] = field(default_factory=list)


def stats_of(calls: Iterable[tuple[str, bool, float, int]]) -> Stats:
    """Of (tool, success, milliseconds, microseconds since 1970)."""
    seen: dict[str, _Seen] = {}
    first: int | None = None
    last: int | None = None
    for tool, success, duration_ms, at_us in calls:
        each = seen.get(tool)
        if each is None:
            each = seen[tool] = _Seen()
        each.times_ms.append(duration_ms)
        each.errors += not success
        first = at_us if first is None or at_us < first else first
        last = at_us if last is None or at_us > last else last
    everything = _Seen(
        sum(each.errors for each in seen.values()),
        [time_ms for each in seen.values() for time_ms in each.times_ms],
    )
    tools = tuple(_figures(tool, seen[tool]) for tool in sorted(seen))
    return Stats(_figures("", everything), tools, first, last)


def _figures(tool: str, seen: _Seen) -> ToolStats:
    ordered = sorted(seen.times_ms)
    if not ordered:
        return ToolStats(tool, 0, 0, 0.0, 0.0, 0.0, 0.0)
    p50, p95, p99 = percentiles(ordered, PERCENTS)
    return ToolStats(tool, len(ordered), seen.errors, sum(ordered) / len(ordered), p50, p95, p99)
