"""An experiment as it was written, checked; and the plan of a dry run. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from faultkit.chaos.steps.expectations import Expectation

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
    """Of an action: the method continues meanwhile, and waits for it at the end."""
    undo: tuple[Step, ...] = ()
    """Of an action: how to undo it. Written to the ledger before it acts."""
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
    max_duration_s: float = USUAL_DURATION_S
    """Longest time of everything but the rollback, whose steps have limits of their own."""
    seed: int | str | None = None
    file: Path | None = None
    written: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return Path() if self.file is None else self.file.parent


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
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Values that override those of the configuration."""
    frequency_s: float = 1.0
    fail_fast: bool = False
    fail_fast_ratio: float = 0.0
    """Flags of `chaos run` for a hypothesis that is checked during the method."""
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
    found: dict[str, Any] = {"phase": phase, "name": step.name, "kind": step.kind}
    if step.work is not None:
        found |= {"says": step.work.says, "limit_s": step.limit_s}
    if step.role == "pause":
        found["seconds"] = step.before_s
    if step.background:
        found["background"] = True
    if step.undo:
        found["undo"] = [each.work.says for each in step.undo]
    return found
