"""How far a run has come. Plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    elapsed_s: float
    """Since the start of the run; negative before."""
    started: int
    done: int
    """Answered or failed."""
    errors: int
    in_flight: int
    dropped: int
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    """Response times of late; 0 while there are none."""
