"""What could not work, said before anything is begun: a program or a function that is not there."""

from __future__ import annotations

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.expect import resolve_expectation
from faultkit.chaos.experiment.model import Experiment, Step
from faultkit.chaos.experiment.work.http import HttpCall
from faultkit.chaos.experiment.work.work import Scene


def why_invalid(experiment: Experiment, scene: Scene) -> str | None:
    try:
        _check_limits(experiment, scene)
        beside = () if experiment.during is None else experiment.during.checks
        for key, steps in (
            ("steady_state", experiment.steady_state),
            ("method", experiment.method),
            ("during.checks", beside),
            ("rollback", experiment.rollback),
        ):
            for index, step in enumerate(steps):
                _resolve(step, scene, f"{key}[{index}]")
    except InputError as error:
        return str(error)
    return None


def _check_limits(experiment: Experiment, scene: Scene) -> None:
    limits = scene.limits
    limits.check_environment()
    if experiment.environments and limits.environment not in experiment.environments:
        allowed = ", ".join(experiment.environments)
        raise InputError("environment", f'expected one of {allowed}, got "{limits.environment}"')
    limits.capped("most_duration_s", experiment.max_duration_s, "limits.max_duration")


def _resolve(step: Step, scene: Scene, path: str) -> None:
    try:
        if step.work is not None:
            step.work.resolve(scene)
            _check_reach(step, scene)
        if step.expect is not None:
            resolve_expectation(step.expect, scene.folder)
        for each in step.undo:
            each.work.resolve(scene)
            _check_reach(each, scene)
    except InputError as error:
        raise error.within(f"{path}.{step.kind}") from None


def _check_reach(step: Step, scene: Scene) -> None:
    if isinstance(step.work, HttpCall) and (step.role != "check" or step.work.method not in _LOOKS):
        step.work.check_target(scene.limits)


_LOOKS = ("GET", "HEAD", "OPTIONS")
