"""Figures of many calls: how many, how many failed, how long they took. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PERCENTS = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Figures:
    key: Any = ""
    """What these calls have in common: a tool, a user, a moment."""
    calls: int = 0
    errors: int = 0
    mean_ms: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0

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
    all: Figures
    tools: tuple[Figures, ...] = ()
    """By name."""
    users: int = 0
    """How many have called."""
    refusals: int = 0
    """Requests that were not let in. They are no calls, and in none of the other figures."""
    first_us: int | None = None
    last_us: int | None = None

    @property
    def calls_per_s(self) -> float:
        """Between the first and the last of them; 0 where there is no between."""
        if self.first_us is None or self.last_us is None or self.first_us == self.last_us:
            return 0.0
        return (self.all.calls - 1) / ((self.last_us - self.first_us) / 1e6)


@dataclass(frozen=True, slots=True)
class Breakdown:
    items: tuple[Figures, ...]
    """The most frequent first."""
    total: int
    """All calls, those of keys that are not listed included."""
