"""What a run in our short form has found so far, and what follows from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from faultkit.chaos.experiment.reversals import Reversed
from faultkit.chaos.outcome import ExperimentResult, Outcome, error_of

STATUS: Mapping[Outcome, str] = {
    Outcome.HELD: "completed",
    Outcome.DEVIATED: "completed",
    Outcome.INVALID: "aborted",
    Outcome.GATE_NOT_MET: "completed",
    Outcome.ABORTED: "interrupted",
    Outcome.ROLLBACK_FAILED: "completed",
}
"""In the words of Chaos Toolkit, which have no more."""


@dataclass(slots=True)
class Findings:
    name: str
    started_at: str
    dry_run: bool = False
    invalid: str | None = None
    stopped: str | None = None
    """Why it ended before its end."""
    before: bool | None = None
    """None: not looked at."""
    after: bool | None = None
    deviated: bool = False
    """Beside the method, or within it."""
    action_error: str | None = None
    errors: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    undone: list[Reversed] = field(default_factory=list)

    @property
    def has_deviated(self) -> bool:
        return self.deviated or self.after is False

    @property
    def rollback_failures(self) -> list[str]:
        return [f"{each.reversal.says}: {each.result.message}" for each in self.undone if not each.result.ok]

    @property
    def outcome(self) -> Outcome:
        """The gravest first: what is still broken matters more than why."""
        if self.invalid is not None:
            return Outcome.INVALID
        if self.rollback_failures:
            return Outcome.ROLLBACK_FAILED
        if self.stopped is not None or self.before is None:
            return Outcome.ABORTED
        if not self.before:
            return Outcome.GATE_NOT_MET
        if self.has_deviated:
            return Outcome.DEVIATED
        return Outcome.ABORTED if self.action_error is not None else Outcome.HELD

    def result(self, duration_s: float) -> ExperimentResult:
        errors = list(self.errors)
        if self.invalid is not None:
            errors.append(self.invalid)
        if self.stopped is not None:
            errors.append(f"Stopped: {self.stopped}")
        after = bool(self.before) if self.dry_run else bool(self.after)
        return ExperimentResult(
            experiment_name=self.name,
            success=after and not self.deviated,
            steady_state_before=bool(self.before),
            steady_state_after=after,
            duration_seconds=round(duration_s, 6),
            error=error_of(errors, self.rollback_failures),
            started_at=self.started_at,
            outcome=self.outcome,
            rollback_ok=not self.rollback_failures,
            action_error=self.action_error,
            dry_run=self.dry_run,
        )
