"""Experiments of Python functions, with the order and the messages of the original library."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.base.errors import RunError
from faultkit.chaos.experiment.experiment_model import (
    ExperimentResult,
    Outcome,
    parse_result,
    result_document,
)
from faultkit.chaos.experiment.function_experiment import ChaosExperiment, SteadyStateHypothesis


class System:
    """A system that is steady according to `states`, and keeps a list of calls."""

    def __init__(self, *states: Any, action: Any = None, rollback: Any = None) -> None:
        self.calls: list[str] = []
        self._states = list(states)
        self._action = action
        self._rollback = rollback

    def check(self) -> Any:
        self.calls.append("check")
        return self._said(self._states.pop(0))

    def act(self) -> Any:
        self.calls.append("action")
        return self._said(self._action)

    def undo(self) -> Any:
        self.calls.append("rollback")
        return self._said(self._rollback)

    def _said(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            raise value
        return value

    def experiment(self) -> ChaosExperiment:
        return ChaosExperiment("x", SteadyStateHypothesis("steady", self.check), self.act, self.undo)


BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])


def ran(system: System, is_async: bool, **options: Any) -> ExperimentResult:
    experiment = system.experiment()
    return asyncio.run(experiment.arun(**options)) if is_async else experiment.run(**options)


CASES: list[tuple[System, tuple[bool, bool, bool], str | None, Outcome, int]] = [
    (System(True, True), (True, True, True), None, Outcome.HELD, 4),
    (System(True, False), (False, True, False), None, Outcome.DEVIATED, 4),
    (
        System(False),
        (False, False, False),
        "System not in steady state before experiment",
        Outcome.GATE_NOT_MET,
        1,
    ),
    (
        System(ValueError("no db")),
        (False, False, False),
        "Failed to verify initial steady state: no db",
        Outcome.GATE_NOT_MET,
        1,
    ),
    (
        System(True, True, action=ValueError("oops")),
        (True, True, True),
        "Action failed: oops",
        Outcome.ABORTED,
        4,
    ),
    (
        System(True, ValueError("gone")),
        (False, True, False),
        "Failed to verify steady state after: gone",
        Outcome.DEVIATED,
        4,
    ),
    (
        System(True, ValueError("gone"), action=ValueError("oops")),
        (False, True, False),
        "Action failed: oops",
        Outcome.DEVIATED,
        4,
    ),
    (
        System(True, True, rollback=OSError("stuck")),
        (True, True, True),
        "Action completed; Rollback failed: stuck",
        Outcome.ROLLBACK_FAILED,
        4,
    ),
    (
        System(True, False, action=ValueError("oops"), rollback=OSError("stuck")),
        (False, True, False),
        "Action failed: oops; Rollback failed: stuck",
        Outcome.ROLLBACK_FAILED,
        4,
    ),
]


@pytest.mark.parametrize(("system", "states", "error", "outcome", "calls"), CASES)
def test_results_have_the_messages_of_the_original_library(
    system: System, states: tuple[bool, bool, bool], error: str | None, outcome: Outcome, calls: int
) -> None:
    result = ran(system, is_async=False)
    assert (result.success, result.steady_state_before, result.steady_state_after) == states
    assert (result.error, result.outcome) == (error, outcome)
    assert system.calls == ["check", "action", "check", "rollback"][:calls]
    assert result.started_at.endswith("Z")
    assert parse_result(result_document(result)) == result


@BOTH
def test_a_dry_run_only_looks(is_async: bool) -> None:
    system = System(True)
    result = ran(system, is_async, dry_run=True)
    assert (result.success, result.steady_state_after, result.dry_run) == (True, True, True)
    assert system.calls == ["check"]


@BOTH
def test_an_interrupt_rolls_back_on_its_way(is_async: bool) -> None:
    system = System(True, action=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ran(system, is_async)
    assert system.calls == ["check", "action", "rollback"]


def test_functions_may_be_async_in_both() -> None:
    calls: list[str] = []

    async def check() -> bool:
        calls.append("check")
        return True

    async def act() -> None:
        calls.append("action")

    experiment = ChaosExperiment("x", SteadyStateHypothesis("steady", check), act, act)
    assert experiment.run().success
    assert asyncio.run(experiment.arun()).success
    assert calls == ["check", "action", "check", "action"] * 2


def test_on_a_running_loop_async_functions_are_refused_before_anything_is_begun() -> None:
    calls: list[str] = []

    async def undo() -> None:
        raise AssertionError("it was never begun")

    async def main() -> None:
        steady = SteadyStateHypothesis("steady", lambda: True)
        assert ChaosExperiment("x", steady, lambda: calls.append("acted")).run().success
        with pytest.raises(RunError, match=r"x: an event loop runs here, .* await arun\(\)"):
            ChaosExperiment("x", steady, lambda: calls.append("acted"), undo).run()

    asyncio.run(main())
    assert calls == ["acted"]


def test_a_run_that_is_cancelled_rolls_back_first() -> None:
    calls: list[str] = []
    acting = asyncio.Event()

    async def act() -> None:
        acting.set()
        await asyncio.sleep(3600)

    async def undo() -> None:
        await asyncio.sleep(0)
        calls.append("rollback")

    async def main() -> None:
        experiment = ChaosExperiment("x", SteadyStateHypothesis("steady", lambda: True), act, undo)
        task = asyncio.create_task(experiment.arun())
        await acting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert calls == ["rollback"]
