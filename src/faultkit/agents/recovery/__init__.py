"""How well an agent recovered, as numbers: pure functions of what was seen, without a wire or a clock."""

from __future__ import annotations

from faultkit.agents.recovery.score import (
    RecoveryObservation,
    RecoveryReport,
    meets_recovery_budget,
    score_recovery,
)

__all__ = ["RecoveryObservation", "RecoveryReport", "meets_recovery_budget", "score_recovery"]
