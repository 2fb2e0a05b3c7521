"""Preflight: what would keep an experiment of the short form from running, found before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_model import Experiment, Step
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.steps.expectations import resolve_expectation
from faultkit.chaos.steps.network_steps import HttpCall
from faultkit.chaos.steps.step_work import StepContext

_READING_METHODS = ("GET", "HEAD", "OPTIONS")


def why_invalid(experiment: Experiment, context: StepContext) -> str | None:
    """Return why an experiment cannot run, before anything starts, or None."""
    limits = context.limits
    try:
        limits.check_environment()
        if experiment.environments and limits.environment not in experiment.environments:
            allowed = ", ".join(experiment.environments)
            raise InputError("environment", f'expected one of {allowed}, got "{limits.environment}"')
        for problem in _problems(experiment, context):
            raise problem
    except InputError as error:
        return str(error)
    return None


def problems_of(experiment: Experiment, limits: Limits) -> list[InputError]:
    """Return why an experiment cannot run, as far as that does not depend on the moment of the run."""
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry

    # No step resolves by the rollback, which belongs to a run.
    context = StepContext(
        folder=experiment.folder,
        limits=limits,
        rollback=None,  # type: ignore[arg-type]
        registry=FaultRegistry(limits=limits),
        seed=None,
        run_id="",
        ttl_s=lambda: 0.0,
        lease_s=0.0,
    )
    return list(_problems(experiment, context, skip=("signal",)))


def _problems(
    experiment: Experiment, context: StepContext, skip: tuple[str, ...] = ()
) -> Iterator[InputError]:
    if experiment.max_duration_s is not None:
        try:
            context.limits.capped("most_duration_s", experiment.max_duration_s, "limits.max_duration")
        except InputError as error:
            yield error
    repeated = () if experiment.during is None else experiment.during.checks
    for key, steps in (
        ("steady_state", experiment.steady_state),
        ("method", experiment.method),
        ("during.checks", () if repeated is experiment.steady_state else repeated),
        ("rollback", experiment.rollback),
    ):
        for index, step in enumerate(steps):
            if step.kind in skip:
                continue
            try:
                _resolve(step, context, f"{key}[{index}]")
            except InputError as error:
                yield error


def _resolve(step: Step, context: StepContext, path: str) -> None:
    try:
        if step.work is not None:
            step.work.resolve(context)
            _check_target(step, context)
        if step.expect is not None:
            resolve_expectation(step.expect, context.folder)
        for each in step.undo:
            each.work.resolve(context)
            _check_target(each, context)
    except InputError as error:
        raise error.within(f"{path}.{step.kind}") from None


def _check_target(step: Step, context: StepContext) -> None:
    """Raise InputError if the step may change something at a host that the limits do not allow."""
    if isinstance(step.work, HttpCall) and (step.role != "check" or step.work.method not in _READING_METHODS):
        step.work.check_target(context.limits)
