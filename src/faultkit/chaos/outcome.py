"""What came of an experiment: the word for it, its exit code, and the fields that seed 002 promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

ACTION_COMPLETED = "Action completed"
"""Stands before a failed rollback that had no error before it, so that "; Rollback failed: " always holds."""


class Outcome(StrEnum):
    HELD = "held"
    """The steady state was there before, and stayed."""
    DEVIATED = "deviated"
    INVALID = "invalid"
    """What was written cannot be run. Nothing was begun."""
    GATE_NOT_MET = "gate_not_met"
    """The steady state was not there to begin with. Nothing was begun."""
    ABORTED = "aborted"
    """Stopped, out of time, or a step of the method failed: nothing is proven."""
    ROLLBACK_FAILED = "rollback_failed"
    """Something is still broken, whatever else came out."""


EXIT_CODE: Mapping[Outcome, int] = {
    Outcome.HELD: 0,
    Outcome.DEVIATED: 1,
    Outcome.INVALID: 2,
    Outcome.GATE_NOT_MET: 3,
    Outcome.ABORTED: 4,
    Outcome.ROLLBACK_FAILED: 5,
}


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    experiment_name: str
    success: bool
    """The system kept its steady state. It says nothing of actions and rollbacks."""
    steady_state_before: bool
    steady_state_after: bool
    duration_seconds: float
    error: str | None
    started_at: str
    """RFC 3339, UTC."""
    outcome: Outcome
    rollback_ok: bool = True
    """Also if there was nothing to roll back."""
    action_error: str | None = None
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        return EXIT_CODE[self.outcome]


def result_document(result: ExperimentResult) -> dict[str, Any]:
    """Plain JSON."""
    return {**asdict(result), "outcome": str(result.outcome)}


def result_of(document: Mapping[str, Any]) -> ExperimentResult:
    return ExperimentResult(**{**document, "outcome": Outcome(document["outcome"])})


def error_of(parts: Sequence[str], rollback_failures: Sequence[str] = ()) -> str | None:
    """All that went wrong in one text, with the rollback last."""
    if rollback_failures:
        parts = [*(parts or [ACTION_COMPLETED]), f"Rollback failed: {', '.join(rollback_failures)}"]
    return "; ".join(parts) or None
