"""Experiments of plain functions: the classes of the seed's library, with its order and its words."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.outcome import ExperimentResult, Outcome, error_of


@dataclass(frozen=True, slots=True)
class SteadyStateHypothesis:
    name: str
    check_fn: Callable[[], Any]
    """Says whether the system is in its steady state. It may be async."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ChaosExperiment:
    """What is done is undone by `rollback`, which runs whatever happens once the action has begun."""

    name: str
    hypothesis: SteadyStateHypothesis
    action: Callable[[], Any]
    rollback: Callable[[], Any] | None = None

    def run(self, *, dry_run: bool = False) -> ExperimentResult:
        """`dry_run`: only the first check. RunError where a loop runs and a function is async: use `arun`."""
        self._check_no_loop()
        course = _Course(self, dry_run)
        if not course.gate(_called(self.hypothesis.check_fn)) or dry_run:
            return course.result()
        try:
            course.acted(_called(self.action))
            course.checked(_called(self.hypothesis.check_fn))
        finally:
            if self.rollback is not None:
                course.rolled_back(_called(self.rollback))
        return course.result()

    def _check_no_loop(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        functions = (self.hypothesis.check_fn, self.action, self.rollback)
        if any(map(inspect.iscoroutinefunction, functions)):
            raise RunError(f"{self.name}: an event loop runs here, and it has async functions: await arun()")

    async def arun(self, *, dry_run: bool = False) -> ExperimentResult:
        """The same on a running loop. Cancelled, it rolls back first."""
        course = _Course(self, dry_run)
        if not course.gate(await _awaited(self.hypothesis.check_fn)) or dry_run:
            return course.result()
        try:
            course.acted(await _awaited(self.action))
            course.checked(await _awaited(self.hypothesis.check_fn))
        finally:
            if self.rollback is not None:
                rolling = asyncio.ensure_future(_awaited(self.rollback))
                try:
                    await asyncio.shield(rolling)
                finally:
                    while not rolling.done():
                        await asyncio.wait({rolling})
                    course.rolled_back(rolling.result())
        return course.result()


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any = None
    error: Exception | None = None


def _called(function: Callable[[], Any]) -> _Answer:
    try:
        value = function()
        return _Answer(asyncio.run(_value(value)) if inspect.isawaitable(value) else value)
    except Exception as error:
        return _Answer(error=error)


async def _awaited(function: Callable[[], Any]) -> _Answer:
    try:
        return _Answer(await _value(function()))
    except Exception as error:
        return _Answer(error=error)


async def _value(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class _Course:
    def __init__(self, experiment: ChaosExperiment, dry_run: bool) -> None:
        self._name = experiment.name
        self._dry_run = dry_run
        self._started_at = time_text(now_us())
        self._began = time.monotonic()
        self._before = self._after = False
        self._errors: list[str] = []
        self._action_error: str | None = None
        self._rollback_error: str | None = None

    def gate(self, answer: _Answer) -> bool:
        if answer.error is not None:
            self._errors.append(f"Failed to verify initial steady state: {answer.error}")
        elif not answer.value:
            self._errors.append("System not in steady state before experiment")
        self._before = answer.error is None and bool(answer.value)
        self._after = self._before and self._dry_run
        return self._before

    def acted(self, answer: _Answer) -> None:
        if answer.error is not None:
            self._action_error = str(answer.error)
            self._errors.append(f"Action failed: {answer.error}")

    def checked(self, answer: _Answer) -> None:
        if answer.error is not None and not self._errors:
            self._errors.append(f"Failed to verify steady state after: {answer.error}")
        self._after = answer.error is None and bool(answer.value)

    def rolled_back(self, answer: _Answer) -> None:
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
