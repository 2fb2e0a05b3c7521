"""Experiments made of Python functions, with the order and the messages of the original library."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.experiment_model import ExperimentResult, Outcome, error_of
from faultkit.chaos.steps.function_steps import call_function


@dataclass(frozen=True, slots=True)
class SteadyStateHypothesis:
    """A function that returns whether the system is in its steady state."""

    name: str
    check_fn: Callable[[], Any]
    """Returns whether the steady state is met. May be async."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ChaosExperiment:
    """An action between two checks. Once the action has started, `rollback` runs whatever happens."""

    name: str
    hypothesis: SteadyStateHypothesis
    action: Callable[[], Any]
    rollback: Callable[[], Any] | None = None

    def run(self, *, dry_run: bool = False) -> ExperimentResult:
        """Run the experiment; with `dry_run`, only the first check.

        Raises RunError inside an event loop if a function is async: use `arun` there."""
        self._check_no_loop()
        run = _FunctionRun(self, dry_run)
        if not run.record_gate(_call(self.hypothesis.check_fn)) or dry_run:
            return run.result()
        try:
            run.record_action(_call(self.action))
            run.record_recheck(_call(self.hypothesis.check_fn))
        finally:
            if self.rollback is not None:
                run.record_rollback(_call(self.rollback))
        return run.result()

    def _check_no_loop(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        functions = (self.hypothesis.check_fn, self.action, self.rollback)
        if any(map(inspect.iscoroutinefunction, functions)):
            raise RunError(f"{self.name}: an event loop runs here, and it has async functions: await arun()")

    async def arun(self, *, dry_run: bool = False) -> ExperimentResult:
        """Run the experiment inside an event loop. If it is cancelled, it rolls back first."""
        run = _FunctionRun(self, dry_run)
        if not run.record_gate(await _call_async(self.hypothesis.check_fn)) or dry_run:
            return run.result()
        try:
            run.record_action(await _call_async(self.action))
            run.record_recheck(await _call_async(self.hypothesis.check_fn))
        finally:
            if self.rollback is not None:
                rolling = asyncio.ensure_future(_call_async(self.rollback))
                try:
                    await asyncio.shield(rolling)
                finally:
                    while not rolling.done():
                        await asyncio.wait({rolling})
                    run.record_rollback(rolling.result())
        return run.result()


@dataclass(frozen=True, slots=True)
class _CallResult:
    value: Any = None
    error: Exception | None = None


def _call(function: Callable[[], Any]) -> _CallResult:
    try:
        return _CallResult(call_function(function, {}))
    except Exception as error:
        return _CallResult(error=error)


async def _call_async(function: Callable[[], Any]) -> _CallResult:
    try:
        value = function()
        return _CallResult(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        return _CallResult(error=error)


class _FunctionRun:
    """The findings of one run, and the result that follows from them."""

    def __init__(self, experiment: ChaosExperiment, dry_run: bool) -> None:
        self._name = experiment.name
        self._dry_run = dry_run
        self._started_at = time_text(now_us())
        self._began = time.monotonic()
        self._before = self._after = False
        self._errors: list[str] = []
        self._action_error: str | None = None
        self._rollback_error: str | None = None

    def record_gate(self, call: _CallResult) -> bool:
        """Record the check before the action; return whether the steady state is met."""
        if call.error is not None:
            self._errors.append(f"Failed to verify initial steady state: {call.error}")
        elif not call.value:
            self._errors.append("System not in steady state before experiment")
        self._before = call.error is None and bool(call.value)
        self._after = self._before and self._dry_run
        return self._before

    def record_action(self, call: _CallResult) -> None:
        if call.error is not None:
            self._action_error = str(call.error)
            self._errors.append(f"Action failed: {call.error}")

    def record_recheck(self, call: _CallResult) -> None:
        if call.error is not None and not self._errors:
            self._errors.append(f"Failed to verify steady state after: {call.error}")
        self._after = call.error is None and bool(call.value)

    def record_rollback(self, call: _CallResult) -> None:
        self._rollback_error = None if call.error is None else str(call.error)

    def result(self) -> ExperimentResult:
        failures = [] if self._rollback_error is None else [self._rollback_error]
        return ExperimentResult(
            experiment_name=self._name,
            success=self._after,
            steady_state_before=self._before,
            steady_state_after=self._after,
            duration_seconds=time.monotonic() - self._began,
            error=error_of(self._errors, failures),
            started_at=self._started_at,
            outcome=self._outcome(),
            rollback_ok=not failures,
            action_error=self._action_error,
            dry_run=self._dry_run,
        )

    def _outcome(self) -> Outcome:
        if self._rollback_error is not None:
            return Outcome.ROLLBACK_FAILED
        if not self._before:
            return Outcome.GATE_NOT_MET
        if not self._after:
            return Outcome.DEVIATED
        return Outcome.ABORTED if self._action_error is not None else Outcome.HELD
