"""An experiment as it was written, and the result of its run: outcome, events and journal. Values only.

The journal is a superset of Chaos Toolkit's, and the same for both forms of experiments. What Chaos Toolkit
does not have is under the one key `faultkit`. docs/chaos-toolkit.md describes it.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from faultkit import __version__
from faultkit.chaos.steps.expectations import Expectation
from faultkit.chaos.steps.fault_hits import FaultHits
from faultkit.chaos.steps.step_work import RollbackResult

USUAL_DURATION_S = 300.0


@dataclass(frozen=True, slots=True)
class Step:
    """A check, an action, an undo or a pause."""

    name: str
    role: Literal["check", "action", "undo", "pause"]
    kind: str
    work: Any
    """A `steps.step_work.StepWork`; None for a pause."""
    limit_s: float
    expect: Expectation | None = None
    before_s: float = 0.0
    after_s: float = 0.0
    background: bool = False
    """True: the method continues while the action runs, and waits for it at the end."""
    undo: tuple[Step, ...] = ()
    """Steps that undo an action. They are written to the ledger before it acts."""
    written: Mapping[str, Any] = field(default_factory=dict)
    """The step as in the file, variables not filled in, for the journal."""


@dataclass(frozen=True, slots=True)
class During:
    """Checks that are repeated while the method runs."""

    every_s: float
    checks: tuple[Step, ...]
    stop: bool = False
    """True: the first deviation ends the method."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment in the short form."""

    name: str
    steady_state: tuple[Step, ...]
    method: tuple[Step, ...]
    rollback: tuple[Step, ...] = ()
    during: During | None = None
    description: str = ""
    environments: tuple[str, ...] = ()
    """The only environments it may run in; empty: all that the limits allow."""
    max_duration_s: float | None = None
    """Longest time of everything but the rollback, whose steps have limits of their own. None: the usual
    one, or what the limits allow."""
    seed: int | str | None = None
    file: Path | None = None
    written: Mapping[str, Any] = field(default_factory=dict)
    """The experiment as in the file, for the journal."""

    @property
    def folder(self) -> Path:
        return Path() if self.file is None else self.file.parent


@dataclass(frozen=True, slots=True)
class ToolkitFlags:
    """The flags of `chaos run`, with the meanings that they have there."""

    variables: tuple[str, ...] = ()
    """NAME=VALUE or NAME:TYPE=VALUE: values that override those of the configuration."""
    var_files: tuple[tuple[str, str], ...] = ()
    """Files with values of configuration and secrets, or with environment variables: name and text. The text
    is kept, because a rollback may need it when the file is gone."""
    control_files: tuple[tuple[str, str], ...] = ()
    """Files with global controls: name and text."""
    hypothesis_strategy: str | None = None
    rollback_strategy: str | None = None
    """None: those of the experiment, else of the settings."""
    frequency_s: float = 1.0
    fail_fast: bool = False
    """For a hypothesis that is checked during the method."""
    dry: str | None = None
    """What is not executed: probes, actions, activities (both) or pause."""


@dataclass(frozen=True, slots=True)
class ToolkitExperiment:
    """An experiment in the format of Chaos Toolkit, which its own library checks and runs."""

    name: str
    """Its title."""
    file: Path
    written: Mapping[str, Any]
    max_duration_s: float = USUAL_DURATION_S
    settings: str | None = None
    """File of Chaos Toolkit's settings; None: the usual one."""
    flags: ToolkitFlags = field(default_factory=ToolkitFlags)
    rollback_limit_s: float = 60.0
    """Longest time of each rollback."""

    @property
    def description(self) -> str:
        return str(self.written.get("description") or "")


def plan_of(experiment: Experiment) -> list[dict[str, Any]]:
    """Return what an experiment would do, in order, as JSON: the plan of a dry run."""
    during = () if experiment.during is None else experiment.during.checks
    return [
        *(_plan_row("gate", step) for step in experiment.steady_state),
        *(_plan_row("method", step) for step in experiment.method),
        *(_plan_row("during", step) for step in during),
        *(_plan_row("recheck", step) for step in experiment.steady_state),
        *(_plan_row("rollback", step) for step in reversed(experiment.rollback)),
    ]


def _plan_row(phase: str, step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {"phase": phase, "name": step.name, "kind": step.kind}
    if step.work is not None:
        row |= {"says": step.work.says, "limit_s": step.limit_s}
    if step.role == "pause":
        row["seconds"] = step.before_s
    if step.background:
        row["background"] = True
    if step.undo:
        row["undo"] = [each.work.says for each in step.undo]
    return row


# --- result ----------------------------------------------------------------------------------------


ACTION_COMPLETED = "Action completed"
"""Stands before a failed rollback without an earlier error, so that "; Rollback failed: " always appears."""
FAULTKIT_KEY = "faultkit"


class Outcome(StrEnum):
    """The outcome of a run, in one word."""

    HELD = "held"
    """The steady state was met before and after."""
    DEVIATED = "deviated"
    INVALID = "invalid"
    """The experiment cannot be run as it is written. Nothing was started."""
    GATE_NOT_MET = "gate_not_met"
    """The steady state was not met to begin with. Nothing was started."""
    ABORTED = "aborted"
    """Stopped, out of time, or an action failed: nothing is proven."""
    NOT_EXERCISED = "not_exercised"
    """The steady state held, but a fault touched nothing: nothing is proven."""
    NOT_CHECKED = "not_checked"
    """A Chaos Toolkit experiment checks no hypothesis during or after its method: nothing is proven."""
    ROLLBACK_FAILED = "rollback_failed"
    """Something is still broken, whatever else was found."""

    @property
    def is_success(self) -> bool:
        """Whether the run ended in order, and every check of the steady state was met. That a fault touched
        nothing does not change that: the original tool defines success by the steady state."""
        return self in (Outcome.HELD, Outcome.NOT_EXERCISED)


EXIT_CODE: Mapping[Outcome, int] = {
    Outcome.HELD: 0,
    Outcome.DEVIATED: 1,
    Outcome.INVALID: 2,
    Outcome.GATE_NOT_MET: 3,
    Outcome.ABORTED: 4,
    Outcome.ROLLBACK_FAILED: 5,
    Outcome.NOT_EXERCISED: 6,
    Outcome.NOT_CHECKED: 6,
}

SEVERITY = (
    Outcome.HELD,
    Outcome.NOT_EXERCISED,
    Outcome.NOT_CHECKED,
    Outcome.DEVIATED,
    Outcome.INVALID,
    Outcome.GATE_NOT_MET,
    Outcome.ABORTED,
    Outcome.ROLLBACK_FAILED,
)
"""The outcomes, the least severe first: a game day ends as its most severe experiment."""

TOOLKIT_STATUS: Mapping[Outcome, str] = {
    Outcome.HELD: "completed",
    Outcome.DEVIATED: "completed",
    Outcome.INVALID: "aborted",
    Outcome.GATE_NOT_MET: "completed",
    Outcome.NOT_EXERCISED: "completed",
    Outcome.NOT_CHECKED: "completed",
    Outcome.ABORTED: "interrupted",
    Outcome.ROLLBACK_FAILED: "completed",
}
"""The `status` of a journal for each outcome: Chaos Toolkit has only these values."""


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """The result of a run. The fields up to `started_at` are those of the original tool."""

    experiment_name: str
    success: bool
    """True if the run ended in order and the system kept its steady state; `Outcome.is_success`."""
    steady_state_before: bool
    """True if it was checked and met; the journal says whether it was checked. So is the next."""
    steady_state_after: bool
    duration_seconds: float
    error: str | None
    started_at: str
    """RFC 3339, UTC."""
    outcome: Outcome
    rollback_ok: bool = True
    """True also if there was nothing to roll back."""
    action_error: str | None = None
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        return EXIT_CODE[self.outcome]


def result_document(result: ExperimentResult) -> dict[str, Any]:
    """Return a result as JSON."""
    return {**asdict(result), "outcome": str(result.outcome)}


def parse_result(document: Mapping[str, Any]) -> ExperimentResult:
    """Return the result of a document of `result_document`."""
    return ExperimentResult(**{**document, "outcome": Outcome(document["outcome"])})


def error_of(parts: Sequence[str], rollback_failures: Sequence[str] = ()) -> str | None:
    """Return all errors in one text, those of the rollback last; None if there are none."""
    if rollback_failures:
        parts = [*(parts or [ACTION_COMPLETED]), f"Rollback failed: {', '.join(rollback_failures)}"]
    return "; ".join(parts) or None


NO_ACTION = "the method has no action"


@dataclass(slots=True)
class RunFindings:
    """The findings of a run of the short form so far, and the result that follows from them."""

    name: str
    started_at: str
    dry_run: bool = False
    has_action: bool = True
    """Whether the method has an action; checks and pauses break nothing."""
    invalid: str | None = None
    stopped: str | None = None
    """Why the run was stopped early."""
    before: bool | None = None
    """Whether the steady state was met before the method; None: not checked."""
    after: bool | None = None
    deviated: bool = False
    """True if a check during or within the method was not met."""
    action_error: str | None = None
    errors: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Each check that was not met, and why."""
    undone: list[RollbackResult] = field(default_factory=list)
    faults: list[FaultHits] = field(default_factory=list)
    done_actions: int = 0
    """Number of actions that succeeded."""
    unchanged: list[str] = field(default_factory=list)
    """Those of them that changed nothing."""
    undecided: list[str] = field(default_factory=list)
    """What searches for a breaking point could not decide."""
    ended_services: list[str] = field(default_factory=list)
    """The processes of `start` that ended by themselves."""

    @property
    def has_deviated(self) -> bool:
        return self.deviated or self.after is False

    @property
    def idle_faults(self) -> list[str]:
        """The faults that touched nothing, or are not known to have acted."""
        return [each.says for each in self.faults if not each.hits]

    @property
    def why_not_exercised(self) -> str | None:
        """Why the method can have broken nothing; None if it may have, or if it did not run."""
        if not self.has_action and not self.dry_run:
            return NO_ACTION
        idle = self.idle_faults
        if self.unchanged and len(self.unchanged) == self.done_actions:
            idle = [*idle, *(f"nothing was changed by: {says}" for says in self.unchanged)]
        return "; ".join([*idle, *self.undecided]) or None

    @property
    def warnings(self) -> list[str]:
        """What the hits of the faults leave open."""
        found = [each.warning for each in self.faults if each.warning is not None]
        found += self.ended_services
        if self.outcome is not Outcome.NOT_EXERCISED:
            found += self.idle_faults
        return found

    @property
    def rollback_failures(self) -> list[str]:
        return [f"{each.entry.says}: {each.result.message}" for each in self.undone if not each.result.ok]

    @property
    def outcome(self) -> Outcome:
        """The most serious finding: what is still broken matters more than why."""
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
        if self.action_error is not None:
            return Outcome.ABORTED
        return Outcome.HELD if self.why_not_exercised is None else Outcome.NOT_EXERCISED

    def result(self, duration_s: float) -> ExperimentResult:
        """Return the result of the run as it stands."""
        errors = list(self.errors)
        if self.invalid is not None:
            errors.append(self.invalid)
        if self.stopped is not None:
            errors.append(f"Stopped: {self.stopped}")
        if self.outcome is Outcome.NOT_EXERCISED:
            errors.append(f"Not exercised: {self.why_not_exercised}")
        after = bool(self.before) if self.dry_run else bool(self.after)
        return ExperimentResult(
            experiment_name=self.name,
            success=self.outcome.is_success,
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


# --- events and journal ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a run, as it happens."""

    kind: str
    """A key of EVENTS."""
    at_s: float
    """Seconds since the run began."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON, without secrets."""


EVENTS: Mapping[str, str] = {
    "run_began": "experiment, dry_run",
    "phase_began": "phase: gate, method, recheck, rollback; left_out: true if --dry leaves out all of it",
    "phase_ended": "phase, met (of gate and recheck)",
    "check_ended": "phase, name, met, why, measured, duration_s",
    "action_began": "name, says",
    "action_ended": "name, ok, why, duration_s",
    "pause_began": "seconds",
    "level_ended": "setting, value, unit, phase, rounds, met: a part of a search for a breaking point",
    "stopping": "why",
    "rolled_back": "says, ok, message",
    "said": "level, text: a line of the log of Chaos Toolkit",
    "run_ended": "outcome, error",
}
"""The kinds of events, and the keys of their data."""


@dataclass(frozen=True, slots=True)
class Journal:
    """The result of a run, and its whole record."""

    result: ExperimentResult
    document: Mapping[str, Any]
    """The content of `journal.json`."""


def journal_head(experiment: Mapping[str, Any], started_at: str) -> dict[str, Any]:
    """Return a new journal, as Chaos Toolkit begins its own."""
    return {
        "chaoslib-version": None,
        "platform": platform.platform(),
        "node": platform.node(),
        "experiment": dict(experiment),
        "start": started_at,
        "status": None,
        "deviated": False,
        "steady_states": {"before": None, "after": None, "during": []},
        "run": [],
        "rollbacks": [],
    }


def faultkit_section(
    result: ExperimentResult,
    *,
    file: str | None,
    seed: int | str | None = None,
    plan: Sequence[Mapping[str, Any]] = (),
    faults: Sequence[Mapping[str, Any]] = (),
    reasons: Sequence[str] = (),
    undone: Sequence[Mapping[str, Any]] = (),
    breaking_points: Sequence[Mapping[str, Any]] = (),
    events: Sequence[Event] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the part of a journal under the key `faultkit`."""
    return {
        "version": __version__,
        **result_document(result),
        "gate_failed": result.outcome == "gate_not_met",
        "file": file,
        "seed": seed,
        "plan": list(plan),
        "faults": list(faults),
        "reasons": list(reasons),
        "undone": list(undone),
        "breaking_points": list(breaking_points),
        "warnings": list(warnings),
        "events": [{"kind": each.kind, "at_s": each.at_s, **each.data} for each in events],
    }
