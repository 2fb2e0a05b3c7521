"""Recovery scores: pure functions of a trace, without I/O or a clock."""

from __future__ import annotations

from faultkit.agents.recovery.score import (
    RecoveryObservation,
    RecoveryReport,
    meets_recovery_budget,
    score_recovery,
)

__all__ = ["RecoveryObservation", "RecoveryReport", "meets_recovery_budget", "score_recovery"]
