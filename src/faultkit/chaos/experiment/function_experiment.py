"""Experiments made of plain functions: the classes of seed 002's library, with its order and its messages."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.experiment_result import ExperimentResult, Outcome, error_of


@dataclass(frozen=True, slots=True)
class SteadyStateHypothesis:
    """A function that tells whether the system is in its steady state."""

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
        if not run.gate(_called(self.hypothesis.check_fn)) or dry_run:
            return run.result()
        try:
            run.acted(_called(self.action))
            run.checked(_called(self.hypothesis.check_fn))
        finally:
            if self.rollback is not None:
                run.rolled_back(_called(self.rollback))
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
        if not run.gate(await _awaited(self.hypothesis.check_fn)) or dry_run:
            return run.result()
        try:
            run.acted(await _awaited(self.action))
            run.checked(await _awaited(self.hypothesis.check_fn))
        finally:
            if self.rollback is not None:
                rolling = asyncio.ensure_future(_awaited(self.rollback))
                try:
                    await asyncio.shield(rolling)
                finally:
                    while not rolling.done():
                        await asyncio.wait({rolling})
                    run.rolled_back(rolling.result())
        return run.result()


@dataclass(frozen=True, slots=True)
class _CallResult:
    value: Any = None
    error: Exception | None = None


def _called(function: Callable[[], Any]) -> _CallResult:
    try:
        value = function()
        return _CallResult(asyncio.run(_value(value)) if inspect.isawaitable(value) else value)
    except Exception as error:
        return _CallResult(error=error)


async def _awaited(function: Callable[[], Any]) -> _CallResult:
    try:
        return _CallResult(await _value(function()))
    except Exception as error:
        return _CallResult(error=error)


async def _value(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class _FunctionRun:
    def __init__(self, experiment: ChaosExperiment, dry_run: bool) -> None:
        self._name = experiment.name
        self._dry_run = dry_run
        self._started_at = time_text(now_us())
        self._began = time.monotonic()
        self._before = self._after = False
        self._errors: list[str] = []
        self._action_error: str | None = None
        self._rollback_error: str | None = None

    def gate(self, answer: _CallResult) -> bool:
        if answer.error is not None:
            self._errors.append(f"Failed to verify initial steady state: {answer.error}")
        elif not answer.value:
            self._errors.append("System not in steady state before experiment")
        self._before = answer.error is None and bool(answer.value)
        self._after = self._before and self._dry_run
        return self._before

    def acted(self, answer: _CallResult) -> None:
        if answer.error is not None:
            self._action_error = str(answer.error)
            self._errors.append(f"Action failed: {answer.error}")

    def checked(self, answer: _CallResult) -> None:
        if answer.error is not None and not self._errors:
            self._errors.append(f"Failed to verify steady state after: {answer.error}")
        self._after = answer.error is None and bool(answer.value)

    def rolled_back(self, answer: _CallResult) -> None:
        self._rollback_error = None if answer.error is None else str(answer.error)

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
