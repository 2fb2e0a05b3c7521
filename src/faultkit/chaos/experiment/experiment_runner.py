"""Runs one experiment in the short form and writes its journal. `faultkit.chaos.runner` describes the phases.

A failed step is a result, not an exception. What cannot work, such as a missing program or function, is
reported before anything starts (`preflight`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from faultkit.base.errors import FaultkitError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.experiment_model import (
    FAULTKIT_KEY,
    TOOLKIT_STATUS,
    USUAL_DURATION_S,
    Event,
    Experiment,
    Journal,
    RunFindings,
    Step,
    faultkit_section,
    journal_head,
    plan_of,
)
from faultkit.chaos.experiment.preflight import why_invalid
from faultkit.chaos.experiment.run_monitor import RunMonitor
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import Lease
from faultkit.chaos.steps.expectations import Expectation, FunctionExpectation
from faultkit.chaos.steps.fault_hits import count_hits
from faultkit.chaos.steps.fault_settings import measured_text
from faultkit.chaos.steps.fault_steps import FaultChange, PlanChange
from faultkit.chaos.steps.step_text import step_text
from faultkit.chaos.steps.step_work import (
    RollbackResult,
    RollbackStack,
    StepContext,
    StepFailed,
    run_in_thread,
    to_json,
)

if TYPE_CHECKING:
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry

_SPARE_S = 5.0
"""Time that an effect may last beyond the run, so that the rollback still finds it."""
_REAP_S = 1.0

_STEADY_STATE_ERRORS = {
    "gate": ("Failed to verify initial steady state", "System not in steady state before experiment"),
    "recheck": ("Failed to verify steady state after", ""),
}
"""The errors of the original tool for a check that raises, and for one that is not met. After the method, an
unmet check is a deviation: a result, not an error."""


class ExperimentRunner:
    """One run of one experiment. It must be made inside the run's event loop."""

    def __init__(
        self,
        experiment: Experiment,
        lease: Lease,
        switch: KillSwitch,
        limits: Limits,
        registry: FaultRegistry | None,
        on_event: Callable[[Event], None],
        seed: int | str | None,
        dry_run: bool,
        stopping: asyncio.Event,
    ) -> None:
        self._experiment = experiment
        self._limits = limits
        self._monitor = RunMonitor(lease, switch, stopping, on_event)
        self._seed = experiment.seed if seed is None else seed
        self._most_s = min(experiment.max_duration_s or USUAL_DURATION_S, limits.most_duration_s)
        self._context = StepContext(
            folder=experiment.folder,
            limits=limits,
            rollback=RollbackStack(lease),
            registry=registry,
            seed=self._seed,
            run_id=lease.id.rpartition("-")[2],
            ttl_s=self._ttl_s,
            lease_s=lease.lease_s,
            added_rules=frozenset(
                (step.work.control, step.work.add.name)
                for step in experiment.method
                if isinstance(step.work, PlanChange) and step.work.add is not None
            ),
        )
        self._context.is_steady = self._is_steady
        self._context.on_level = lambda data: self._monitor.record("level_ended", **data)
        has_action = any(step.role == "action" for step in experiment.method)
        self._findings = RunFindings(experiment.name, time_text(now_us()), dry_run, has_action)

    async def run(self) -> Journal:
        """Run the experiment and return its journal. Raises only if it is cancelled, after the rollback."""
        experiment, monitor, findings = self._experiment, self._monitor, self._findings
        document = journal_head(experiment.written, findings.started_at)
        monitor.record("run_began", experiment=experiment.name, dry_run=findings.dry_run)
        findings.invalid = why_invalid(experiment, self._context)
        if findings.invalid is None:
            findings.stopped = monitor.why_not_start()
            if findings.stopped is None:
                await self._run_and_roll_back(document)
        result = findings.result(monitor.elapsed_s)
        monitor.record("run_ended", outcome=str(result.outcome), error=result.error)
        document["end"] = time_text(now_us())
        document["duration"] = result.duration_seconds
        document["status"] = TOOLKIT_STATUS[result.outcome]
        document["deviated"] = findings.has_deviated
        document[FAULTKIT_KEY] = faultkit_section(
            result,
            file=None if experiment.file is None else str(experiment.file),
            seed=self._seed,
            plan=plan_of(experiment),
            faults=[each.document for each in findings.faults],
            reasons=findings.reasons,
            breaking_points=self._context.breaking_points,
            undone=[_undo_document(each) for each in findings.undone],
            events=monitor.events,
            warnings=[*findings.warnings, *monitor.warnings],
        )
        return Journal(result, document)

    async def _run_and_roll_back(self, document: dict[str, Any]) -> None:
        phases = asyncio.create_task(self._run_phases(document))
        try:
            self._findings.stopped = await self._monitor.wait_for(phases, self._most_s)
        finally:
            if self._findings.stopped is not None:
                self._monitor.record("stopping", why=self._findings.stopped)
            phases.cancel()
            await asyncio.wait({phases})
            if not phases.cancelled() and (error := phases.exception()) is not None:
                # A defect of Faultkit: the rollback runs all the same.
                is_ours = isinstance(error, FaultkitError)
                self._findings.stopped = str(error) if is_ours else f"{type(error).__name__}: {error}"
            self._findings.unchanged = self._context.unchanged
            self._findings.undecided = self._context.undecided
            self._findings.ended_services = _ended_services(self._context)
            # Before the rollback: rules that are gone need not be remembered where they acted.
            self._findings.faults = await self._monitor.finish(count_hits(self._context.faults))
            await self._roll_back(document)

    async def _run_phases(self, document: dict[str, Any]) -> None:
        states = document["steady_states"]
        states["before"] = before = await self._check_steady_state("gate", self._experiment.steady_state)
        self._findings.before = bool(before["steady_state_met"])
        if not self._findings.before or self._findings.dry_run:
            return
        await self._run_method(document)
        states["after"] = after = await self._check_steady_state("recheck", self._experiment.steady_state)
        self._findings.after = bool(after["steady_state_met"])

    async def _check_steady_state(self, phase: str, checks: Sequence[Step]) -> dict[str, Any]:
        """Run all checks in order, also after one that is not met; return the entry of the journal."""
        if phase != "during":
            self._monitor.record("phase_began", phase=phase)
        probes, missed = [], []
        for step in checks:
            done = await run_step(step, self._context)
            probes.append(done.run)
            self._record_check(phase, done)
            if not done.ok:
                missed.append(done)
        met = not missed
        if phase != "during":
            self._monitor.record("phase_ended", phase=phase, met=met)
        self._findings.reasons += [f"{phase}: {done.step.name}: {done.why}" for done in missed]
        if missed and phase in _STEADY_STATE_ERRORS:
            raising, failing = _STEADY_STATE_ERRORS[phase]
            raised = next((done for done in missed if done.raised), None)
            if raised is not None:
                self._findings.errors.append(f"{raising}: {raised.step.name}: {raised.why}")
            elif failing:
                self._findings.errors.append(failing)
        return {"steady_state_met": met, "probes": probes}

    async def _is_steady(self) -> bool:
        for step in self._experiment.steady_state:
            if not (await run_step(step, self._context)).ok:
                return False
        return True

    # --- method -------------------------------------------------------------------------------

    async def _run_method(self, document: dict[str, Any]) -> None:
        experiment, runs = self._experiment, document["run"]
        self._monitor.record("phase_began", phase="method")
        # Before the first action: from here on, another process can roll back if this one dies.
        for step in experiment.rollback:
            self._intend_undo(step)
        repeated_checks = None
        steps = asyncio.create_task(self._run_steps(runs))
        tasks: set[asyncio.Task[None]] = {steps}
        steps_done = asyncio.Event()
        if experiment.during is not None:
            states = document["steady_states"]["during"]
            repeated_checks = asyncio.create_task(self._repeat_checks(states, steps_done))
            tasks.add(repeated_checks)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if repeated_checks is not None and repeated_checks.done() and not steps.done():
                steps.cancel()  # A deviation, and the experiment asks to stop at the first.
            elif repeated_checks is not None:
                steps_done.set()
                await repeated_checks
            await asyncio.wait({steps})
            if not steps.cancelled() and (error := steps.exception()) is not None:
                raise error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        self._monitor.record("phase_ended", phase="method", met=self._findings.action_error is None)

    def _intend_undo(self, step: Step) -> None:
        if isinstance(step.work, FaultChange):
            step.work.intend_removal(self._context)
        else:
            undo = step.work.undo(self._context, step.limit_s)
            self._context.rollback.intend(replace(undo, says=undo_text(step, undo.says)))

    async def _run_steps(self, runs: list[dict[str, Any]]) -> None:
        background: list[asyncio.Task[bool]] = []
        try:
            for step in self._experiment.method:
                if step.background:
                    background.append(asyncio.create_task(self._run_one(step, runs)))
                    await asyncio.sleep(0)
                elif not await self._run_one(step, runs):
                    break
            if background:
                await asyncio.wait(background)
        finally:
            for task in background:
                task.cancel()
            if background:
                await asyncio.wait(background)

    async def _run_one(self, step: Step, runs: list[dict[str, Any]]) -> bool:
        """Run a step of the method; return whether the method may continue."""
        if step.before_s:
            self._monitor.record("pause_began", seconds=step.before_s)
            await asyncio.sleep(step.before_s)
        if step.role == "pause":
            return True
        if step.role == "action":
            self._monitor.record("action_began", name=step.name, says=step.work.says)
            try:
                for undo in step.undo:
                    self._intend_undo(undo)
            except FaultkitError as error:
                return self._record_action(StepResult(step, {}, str(error), raised=True))
        done = await run_step(step, self._context)
        runs.append(done.run)
        if step.role == "check":
            self._record_check("method", done)
            if not done.ok:
                self._findings.deviated = True
                self._findings.reasons.append(f"method: {step.name}: {done.why}")
        elif not self._record_action(done):
            return False
        if self._context.deviations:
            self._findings.deviated = True
            self._findings.reasons += [f"method: {step.name}: {each}" for each in self._context.deviations]
            self._context.deviations.clear()
        if step.after_s:
            self._monitor.record("pause_began", seconds=step.after_s)
            await asyncio.sleep(step.after_s)
        return True

    async def _repeat_checks(self, states: list[dict[str, Any]], steps_done: asyncio.Event) -> None:
        """Repeat the checks until the method is done, or until the first deviation if that stops it."""
        during = self._experiment.during
        assert during is not None
        while not steps_done.is_set():
            state = await self._check_steady_state("during", during.checks)
            states.append(state)
            if not state["steady_state_met"]:
                self._findings.deviated = True
                if during.stop:
                    return
            try:
                async with asyncio.timeout(during.every_s):
                    await steps_done.wait()
            except TimeoutError:
                continue

    # --- rollback -----------------------------------------------------------------------------

    async def _roll_back(self, document: dict[str, Any]) -> None:
        if not len(self._context.rollback):
            return
        self._monitor.record("phase_began", phase="rollback")
        self._findings.undone = await self._monitor.finish(
            self._context.rollback.carry_out(
                lambda each: self._monitor.record("rolled_back", **_undo_document(each))
            )
        )
        document["rollbacks"] = [
            {
                "activity": {"type": "action", "name": each.entry.says},
                "status": "succeeded" if each.result.ok else "failed",
                "output": each.result.message,
            }
            for each in self._findings.undone
        ]
        if self._context.started:
            # The rollback has ended these processes: collect their statuses, so that no zombie is left.
            ends = [asyncio.ensure_future(process.wait()) for process in self._context.started]
            await asyncio.wait(ends, timeout=_REAP_S)
        self._monitor.record("phase_ended", phase="rollback", met=not self._findings.rollback_failures)

    def _ttl_s(self) -> float:
        rollback_s = sum(step.limit_s for step in self._experiment.rollback)
        left_s = max(0.0, self._most_s - self._monitor.elapsed_s)
        return min(left_s + rollback_s + _SPARE_S, self._limits.most_ttl_s)

    # --- events -------------------------------------------------------------------------------

    def _record_action(self, done: StepResult) -> bool:
        """Record the end of an action; return whether it succeeded."""
        duration_s = done.run.get("duration", 0.0)
        self._monitor.record(
            "action_ended", name=done.step.name, ok=done.ok, why=done.why, duration_s=duration_s
        )
        if not done.ok and self._findings.action_error is None:
            self._findings.action_error = f"{done.step.name}: {done.why}"
            self._findings.errors.append(f"Action failed: {self._findings.action_error}")
        self._findings.done_actions += done.ok
        return done.ok

    def _record_check(self, phase: str, done: StepResult) -> None:
        self._monitor.record(
            "check_ended",
            phase=phase,
            name=done.step.name,
            met=done.ok,
            why=done.why,
            measured=measured_text(done.run["output"]),
            duration_s=done.run["duration"],
        )


def _undo_document(each: RollbackResult) -> dict[str, Any]:
    return {"says": each.entry.says, "ok": each.result.ok, "message": each.result.message}


def _ended_services(context: StepContext) -> list[str]:
    """Return the started processes that failed, without a signal of this run."""
    names = {pid: name for name, pid in context.processes.items()}
    return [
        f"{names.get(each.pid, '')} (process {each.pid}) ended with {each.returncode} before the rollback"
        for each in context.started
        if each.returncode and each.pid not in context.signalled
    ]


# --- one step --------------------------------------------------------------------------------------


_TOOLKIT_TYPES = {"check": "probe", "action": "action", "undo": "action", "pause": "action"}


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step."""

    step: Step
    run: dict[str, Any]
    """Its entry in the journal."""
    why: str | None = None
    """Why the value was not as expected, or why the step failed; None: it succeeded."""
    raised: bool = False
    """True if it failed or took too long, so that there was no value to check."""

    @property
    def ok(self) -> bool:
        return self.why is None


async def run_step(step: Step, context: StepContext) -> StepResult:
    """Run a check or an action within its limit. Raises nothing but cancellation."""
    began, start = time.monotonic(), now_us()
    output, why, raised = None, None, False
    limit = asyncio.timeout(step.limit_s)
    try:
        async with limit:
            if step.role == "check":
                assert step.expect is not None
                output = await step.work.perform(context)
                why = await _why_not_met(step.expect, output)
            else:
                output = await step.work.act(context)
    except TimeoutError as error:
        raised = True
        why = f"it did not end within {step.limit_s:g} s" if limit.expired() else f"TimeoutError: {error}"
        if limit.expired() and step.role == "action" and step.kind == "python":
            why += "; a function cannot be ended: it goes on, and may act after the rollback"
    except (StepFailed, FaultkitError) as error:
        why, raised = str(error), True
    except Exception as error:
        why, raised = f"{type(error).__name__}: {error}", True
    run: dict[str, Any] = {
        "activity": toolkit_activity(step),
        "output": to_json(output),
        "start": time_text(start),
        "status": "failed" if raised else "succeeded",
        "end": time_text(now_us()),
        "duration": time.monotonic() - began,
    }
    if raised:
        run["exception"] = [why]
    if step.role == "check":
        run["tolerance_met"] = why is None
        run["why"] = why
    return StepResult(step, run, why, raised)


async def _why_not_met(expect: Expectation, output: Any) -> str | None:
    # A function of the user may hang, so it runs in a thread.
    if isinstance(expect, FunctionExpectation):
        return await run_in_thread(lambda: expect.why_not(output))
    return expect.why_not(output)


def toolkit_activity(step: Step) -> dict[str, Any]:
    """Return the step as it was written, in the shape of an activity of Chaos Toolkit."""
    given = step.written.get(step.kind)
    provider: Mapping[str, Any] = given if isinstance(given, Mapping) else {"value": given}
    activity: dict[str, Any] = {
        "type": _TOOLKIT_TYPES[step.role],
        "name": step.name,
        "provider": {"type": step.kind, **{key: value for key, value in provider.items() if key != "type"}},
    }
    if "expect" in step.written:
        activity["tolerance"] = step.written["expect"]
    if step.background:
        activity["background"] = True
    return activity


def undo_text(step: Step, says: str) -> str:
    """Return what an undo does, for people: the name of its step, and its work with its arguments."""
    says = step_text(step.kind, step.written, says)
    return f"{step.name}: {says}" if "name" in step.written else says
