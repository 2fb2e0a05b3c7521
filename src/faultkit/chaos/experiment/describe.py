"""What an experiment would do, as plain data: the plan of a dry run. Pure."""

from __future__ import annotations

from typing import Any

from faultkit.chaos.experiment.model import Experiment, Step


def plan_of(experiment: Experiment) -> list[dict[str, Any]]:
    """In the order in which it would happen; the rollback last first."""
    during = () if experiment.during is None else experiment.during.checks
    return [
        *(_described("gate", step) for step in experiment.steady_state),
        *(_described("method", step) for step in experiment.method),
        *(_described("during", step) for step in during),
        *(_described("recheck", step) for step in experiment.steady_state),
        *(_described("rollback", step) for step in reversed(experiment.rollback)),
    ]


def _described(phase: str, step: Step) -> dict[str, Any]:
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
