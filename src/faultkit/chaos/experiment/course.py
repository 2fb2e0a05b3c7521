"""The course of one experiment in our short form, and the journal that comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from faultkit.base.errors import FaultkitError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.describe import plan_of
from faultkit.chaos.experiment.findings import STATUS, Findings
from faultkit.chaos.experiment.journal import OURS, Event, Journal, journal_head, ours
from faultkit.chaos.experiment.model import Experiment, Step
from faultkit.chaos.experiment.resolve import why_invalid
from faultkit.chaos.experiment.reversals import Reversals, Reversed
from faultkit.chaos.experiment.steps import Done, perform
from faultkit.chaos.experiment.watch import Watch
from faultkit.chaos.experiment.work.faults import FaultChange
from faultkit.chaos.experiment.work.work import Scene
from faultkit.chaos.ledger import Lease
from faultkit.chaos.lever import Lever
from faultkit.chaos.limits import Limits

if TYPE_CHECKING:
    from faultkit.chaos.registry import FaultRegistry

_SPARE_S = 5.0
"""What an effect may last beyond the time of the run, so that its rollback still finds it."""
_REAPED_S = 1.0


class Course:
    def __init__(
        self,
        experiment: Experiment,
        lease: Lease,
        lever: Lever,
        limits: Limits,
        registry: FaultRegistry | None,
        on_event: Callable[[Event], None],
        seed: int | str | None,
        dry_run: bool,
        stopping: asyncio.Event,
    ) -> None:
        self._experiment = experiment
        self._limits = limits
        self._watch = Watch(lease, lever, stopping, on_event)
        self._seed = experiment.seed if seed is None else seed
        self._most_s = min(experiment.max_duration_s, limits.most_duration_s)
        self._scene = Scene(
            folder=experiment.folder,
            limits=limits,
            reversals=Reversals(lease),
            registry=registry,
            seed=self._seed,
            run_id=lease.id.rpartition("-")[2],
            ttl_s=self._ttl_s,
            lease_s=lease.lease_s,
        )
        self._found = Findings(experiment.name, time_text(now_us()), dry_run)

    async def whole(self) -> Journal:
        experiment, watch, found = self._experiment, self._watch, self._found
        document = journal_head(experiment.written, found.started_at)
        watch.tell("run_began", experiment=experiment.name, dry_run=found.dry_run)
        found.invalid = why_invalid(experiment, self._scene)
        if found.invalid is None:
            found.stopped = watch.why_not_begin()
            if found.stopped is None:
                await self._body_and_rollback(document)
        result = found.result(watch.elapsed_s)
        watch.tell("run_ended", outcome=str(result.outcome), error=result.error)
        document["end"] = time_text(now_us())
        document["duration"] = result.duration_seconds
        document["status"] = STATUS[result.outcome]
        document["deviated"] = found.has_deviated
        document[OURS] = ours(
            result,
            file=None if experiment.file is None else str(experiment.file),
            seed=self._seed,
            plan=plan_of(experiment),
            reasons=found.reasons,
            undone=[_undone(each) for each in found.undone],
            events=watch.events,
            warnings=watch.warnings,
        )
        return Journal(result, document)

    async def _body_and_rollback(self, document: dict[str, Any]) -> None:
        body = asyncio.create_task(self._body(document))
        try:
            self._found.stopped = await self._watch.over(body, self._most_s)
        finally:
            if self._found.stopped is not None:
                self._watch.tell("stopping", why=self._found.stopped)
            body.cancel()
            await asyncio.wait({body})
            if not body.cancelled() and (error := body.exception()) is not None:
                # Ours, and no reason to leave anything broken.
                known = isinstance(error, FaultkitError)
                self._found.stopped = str(error) if known else f"{type(error).__name__}: {error}"
            await self._roll_back(document)

    async def _body(self, document: dict[str, Any]) -> None:
        states = document["steady_states"]
        states["before"] = before = await self._steady_state("gate", self._experiment.steady_state)
        self._found.before = bool(before["steady_state_met"])
        if not self._found.before or self._found.dry_run:
            return
        await self._method(document)
        states["after"] = after = await self._steady_state("recheck", self._experiment.steady_state)
        self._found.after = bool(after["steady_state_met"])

    async def _steady_state(self, phase: str, checks: Sequence[Step]) -> dict[str, Any]:
        """All checks, in order: one that is not met does not hide the others."""
        if phase != "during":
            self._watch.tell("phase_began", phase=phase)
        probes, missed = [], []
        for step in checks:
            done = await perform(step, self._scene)
            probes.append(done.run)
            self._told(phase, done)
            if not done.ok:
                missed.append(done)
        met = not missed
        if phase != "during":
            self._watch.tell("phase_ended", phase=phase, met=met)
        self._found.reasons += [f"{phase}: {done.step.name}: {done.why}" for done in missed]
        if missed and phase in _WORDS:
            raising, failing = _WORDS[phase]
            raised = next((done for done in missed if done.raised), None)
            if raised is not None:
                self._found.errors.append(f"{raising}: {raised.step.name}: {raised.why}")
            elif failing:
                self._found.errors.append(failing)
        return {"steady_state_met": met, "probes": probes}

    async def _method(self, document: dict[str, Any]) -> None:
        experiment, runs = self._experiment, document["run"]
        self._watch.tell("phase_began", phase="method")
        self._intend_rollback()
        beside = None
        work = asyncio.create_task(self._steps(runs))
        waiting: set[asyncio.Task[None]] = {work}
        enough = asyncio.Event()
        if experiment.during is not None:
            beside = asyncio.create_task(self._during(document["steady_states"]["during"], enough))
            waiting.add(beside)
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if beside is not None and beside.done() and not work.done():
                work.cancel()  # A deviation, and the experiment asked to stop at it.
            elif beside is not None:
                enough.set()
                await beside
            await asyncio.wait({work})
            if not work.cancelled() and (error := work.exception()) is not None:
                raise error
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
        self._watch.tell("phase_ended", phase="method", met=self._found.action_error is None)

    def _intend_rollback(self) -> None:
        """Before the first action: if we die from here on, others know what to do. Undone last first."""
        for step in self._experiment.rollback:
            self._intend(step)

    def _intend(self, step: Step) -> None:
        if isinstance(step.work, FaultChange):
            step.work.take_back(self._scene)
        else:
            self._scene.reversals.intend(step.work.undo(self._scene, step.limit_s))

    async def _steps(self, runs: list[dict[str, Any]]) -> None:
        behind: list[asyncio.Task[bool]] = []
        try:
            for step in self._experiment.method:
                if step.background:
                    behind.append(asyncio.create_task(self._one(step, runs)))
                    await asyncio.sleep(0)
                elif not await self._one(step, runs):
                    break
            if behind:
                await asyncio.wait(behind)
        finally:
            for task in behind:
                task.cancel()
            if behind:
                await asyncio.wait(behind)

    async def _one(self, step: Step, runs: list[dict[str, Any]]) -> bool:
        """Whether the method may go on."""
        if step.before_s:
            self._watch.tell("pause_began", seconds=step.before_s)
            await asyncio.sleep(step.before_s)
        if step.role == "pause":
            return True
        if step.role == "action":
            self._watch.tell("action_began", name=step.name, says=step.work.says)
            try:
                for undo in step.undo:
                    self._intend(undo)
            except FaultkitError as error:
                return self._acted(Done(step, {}, str(error), raised=True))
        done = await perform(step, self._scene)
        runs.append(done.run)
        if step.role == "check":
            self._told("method", done)
            if not done.ok:
                self._found.deviated = True
                self._found.reasons.append(f"method: {step.name}: {done.why}")
        elif not self._acted(done):
            return False
        if step.after_s:
            self._watch.tell("pause_began", seconds=step.after_s)
            await asyncio.sleep(step.after_s)
        return True

    def _acted(self, done: Done) -> bool:
        took_s = done.run.get("duration", 0.0)
        self._watch.tell("action_ended", name=done.step.name, ok=done.ok, why=done.why, duration_s=took_s)
        if not done.ok and self._found.action_error is None:
            self._found.action_error = f"{done.step.name}: {done.why}"
            self._found.errors.append(f"Action failed: {self._found.action_error}")
        return done.ok

    async def _during(self, states: list[dict[str, Any]], enough: asyncio.Event) -> None:
        """Ends when the method does, or with the first deviation if the experiment asks for that."""
        during = self._experiment.during
        assert during is not None
        while not enough.is_set():
            state = await self._steady_state("during", during.checks)
            states.append(state)
            if not state["steady_state_met"]:
                self._found.deviated = True
                if during.stop:
                    return
            try:
                async with asyncio.timeout(during.every_s):
                    await enough.wait()
            except TimeoutError:
                continue

    async def _roll_back(self, document: dict[str, Any]) -> None:
        if not len(self._scene.reversals):
            return
        self._watch.tell("phase_began", phase="rollback")
        self._found.undone = await self._watch.through(
            self._scene.reversals.carry_out(lambda each: self._watch.tell("rolled_back", **_undone(each)))
        )
        document["rollbacks"] = [
            {
                "activity": {"type": "action", "name": each.reversal.says},
                "status": "succeeded" if each.result.ok else "failed",
                "output": each.result.message,
            }
            for each in self._found.undone
        ]
        if self._scene.started:
            # Ended by now: only their remains are to be taken.
            ends = [asyncio.ensure_future(process.wait()) for process in self._scene.started]
            await asyncio.wait(ends, timeout=_REAPED_S)
        self._watch.tell("phase_ended", phase="rollback", met=not self._found.rollback_failures)

    def _ttl_s(self) -> float:
        undoing_s = sum(step.limit_s for step in self._experiment.rollback)
        left_s = max(0.0, self._most_s - self._watch.elapsed_s)
        return min(left_s + undoing_s + _SPARE_S, self._limits.most_ttl_s)

    def _told(self, phase: str, done: Done) -> None:
        took_s = done.run["duration"]
        self._watch.tell(
            "check_ended", phase=phase, name=done.step.name, met=done.ok, why=done.why, duration_s=took_s
        )


_WORDS = {
    "gate": ("Failed to verify initial steady state", "System not in steady state before experiment"),
    "recheck": ("Failed to verify steady state after", ""),
}
"""What is said of a check that raises, and of one that is not met. A deviation is a result, no error."""


def _undone(each: Reversed) -> dict[str, Any]:
    return {"says": each.reversal.says, "ok": each.result.ok, "message": each.result.message}
