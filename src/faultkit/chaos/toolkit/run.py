"""Running a Chaos Toolkit experiment: its own library runs it, and this keeps our promises around it.

It is undone whatever happens, ends within its time, tells what happens as it happens, and leaves our outcome
and a journal that holds the library's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.base.errors import FaultkitError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.journal import OURS, Event, Journal, journal_head, ours
from faultkit.chaos.experiment.model import ToolkitExperiment
from faultkit.chaos.experiment.threads import in_thread
from faultkit.chaos.experiment.watch import Watch
from faultkit.chaos.ledger import Lease
from faultkit.chaos.lever import Lever
from faultkit.chaos.limits import Limits
from faultkit.chaos.outcome import ExperimentResult, Outcome, error_of
from faultkit.chaos.toolkit.messages import Order
from faultkit.chaos.toolkit.process import ToolkitProcess, listen
from faultkit.chaos.toolkit.rollbacks import Played, play
from faultkit.chaos.toolkit.verdict import Verdict, rollback_failures_of, verdict_of
from faultkit.chaos.undo import Undo, UndoResult

_GRACE_S = 5.0
"""From an interruption to the first rollback, or to the end: the library waits for its background."""


class ToolkitRun:
    def __init__(
        self,
        experiment: ToolkitExperiment,
        lease: Lease,
        lever: Lever,
        limits: Limits,
        on_event: Callable[[Event], None],
        dry_run: bool,
        stopping: asyncio.Event,
    ) -> None:
        self._experiment = experiment
        self._lease = lease
        self._limits = limits
        self._dry_run = dry_run
        self._watch = Watch(lease, lever, stopping, on_event)
        self._order = Order(
            "gate" if dry_run else "run",
            os.path.abspath(experiment.file),
            experiment.settings,
            dict(experiment.variables),
            frequency_s=experiment.frequency_s,
            fail_fast=experiment.fail_fast,
            fail_fast_ratio=experiment.fail_fast_ratio,
        )
        self._invalid: str | None = None
        self._stopped: str | None = None
        self._died: str | None = None
        self._journal: dict[str, Any] | None = None
        self._undo: Undo | None = None
        self._intent: str | None = None
        self._rolling = asyncio.Event()
        self._rolled = False
        """All rollbacks were played, by the process itself."""
        self._began = 0
        """How many rollbacks it has begun, the last of them with this name."""
        self._current = ""
        self._moved = asyncio.Event()
        self._failures: list[str] = []
        """Of rollbacks, as they were told."""
        self._hung: str | None = None

    async def whole(self) -> Journal:
        watch, experiment = self._watch, self._experiment
        started_at = time_text(now_us())
        watch.tell("run_began", experiment=experiment.name, dry_run=self._dry_run)
        played = Played()
        try:
            self._limits.check_environment()
            self._limits.capped("most_duration_s", experiment.max_duration_s, "max_duration")
            self._stopped = watch.why_not_begin()
        except FaultkitError as error:
            self._invalid = str(error)
        if self._invalid is None and self._stopped is None:
            await self._run()
            played = await self._play_the_rest()
        return self._finish(started_at, played)

    async def _run(self) -> None:
        process = ToolkitProcess()
        told, transport = await listen(process)
        process.order(self._order)
        conversation = asyncio.create_task(self._converse(process, told.queue))
        guard = asyncio.create_task(self._end_what_hangs(process))
        try:
            self._stopped = await self._watch.over(conversation, self._experiment.max_duration_s)
            if self._stopped is not None and self._rolling.is_set():
                self._stopped = None  # It is at its end already, and the rest is bounded.
            if self._stopped is not None:
                self._watch.tell("stopping", why=self._stopped)
                await self._interrupt(process, conversation)
            await self._watch.through(asyncio.wait({conversation}))
            if (error := conversation.exception()) is not None:
                self._died = f"{type(error).__name__}: {error}"
        finally:
            guard.cancel()
            conversation.cancel()
            transport.close()
            last_words = await in_thread(process.close)
            if self._journal is None and self._invalid is None and self._died is None:
                lines = last_words.splitlines()
                self._died = f"its process ended early{': ' + lines[-1] if lines else ''}"

    async def _interrupt(self, process: ToolkitProcess, conversation: asyncio.Task[None]) -> None:
        process.interrupt()
        rolling = asyncio.create_task(self._rolling.wait())
        try:
            done, _ = await asyncio.wait(
                {conversation, rolling}, timeout=_GRACE_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            rolling.cancel()
        if not done:
            process.kill()

    async def _end_what_hangs(self, process: ToolkitProcess) -> None:
        """Each rollback has its own limit; the library has none."""
        await self._rolling.wait()
        while True:
            self._moved.clear()
            try:
                await asyncio.wait_for(self._moved.wait(), self._experiment.rollback_limit_s)
            except TimeoutError:
                self._hung = f"it did not end within {self._experiment.rollback_limit_s:g} s"
                process.kill()
                return

    async def _converse(self, process: ToolkitProcess, queue: asyncio.Queue[dict[str, Any] | None]) -> None:
        while (message := await queue.get()) is not None:
            kind = message.pop("kind")
            if kind == "valid":
                self._intend(message, process)
                process.go_on()
            elif kind == "invalid":
                self._invalid = message["why"]
            elif kind == "journal":
                self._journal = message["journal"]
            else:
                self._follow(kind, message)

    def _intend(self, valid: dict[str, Any], process: ToolkitProcess) -> None:
        if self._dry_run or valid["rollbacks"] != "always" or not valid["count"]:
            return
        experiment = self._experiment
        order = {
            "file": self._order.file,
            "settings": self._order.settings,
            "variables": dict(self._order.variables),
            "content": valid["experiment"],
        }
        data = {
            "order": order,
            "folder": os.getcwd(),
            "each_s": experiment.rollback_limit_s,
            **process.identity,
        }
        says = f"play the rollbacks of {experiment.name}"
        limit_s = experiment.rollback_limit_s * valid["count"]
        self._undo = Undo("toolkit_rollbacks", data, says, limit_s)
        self._intent = self._lease.intend(self._undo)

    def _follow(self, kind: str, message: dict[str, Any]) -> None:
        tell = self._watch.tell
        if kind == "said":
            tell("said", **message)
        elif kind == "phase":
            tell("phase_began", **message)
        elif kind == "state":
            tell("phase_ended", **message)
        elif kind == "activity_began" and message["type"] == "action":
            tell("action_began", name=message["name"], says=message["name"])
        elif kind == "activity_ended":
            self._ended(message)
        elif kind == "rollbacks_began":
            tell("phase_began", phase="rollback")
            self._rolling.set()
        elif kind == "rollback_began":
            self._began += 1
            self._current = message["name"]
            self._moved.set()
        elif kind == "rollback_ended":
            self._moved.set()
            ok = message["status"] == "succeeded"
            if not ok:
                self._failures.append(f"{message['name']}: {message['why']}")
            tell("rolled_back", says=message["name"], ok=ok, message=message["why"] or "done")
        elif kind == "rollbacks_ended":
            self._rolled = True

    def _ended(self, message: dict[str, Any]) -> None:
        ok, why, took_s = message["status"] == "succeeded", message["why"], message["duration_s"]
        if message["type"] == "action":
            self._watch.tell("action_ended", name=message["name"], ok=ok, why=why, duration_s=took_s)
            return
        phase = message["phase"]
        # Whether a tolerance is met is known when all of the state is.
        met = None if ok else False
        self._watch.tell(
            "check_ended", phase=phase, name=message["name"], met=met, why=why, duration_s=took_s
        )

    async def _play_the_rest(self) -> Played:
        """What the process could not: it was ended, or died. A run that left without rollbacks on purpose
        has its journal, and is left alone."""
        if self._undo is None or self._intent is None:
            return Played()
        undo, intent = self._undo, self._intent
        if self._rolled:
            message = "; ".join(self._failures) or "played by the experiment itself"
            self._lease.done(intent, UndoResult(not self._failures, message))
            return Played(failures=self._failures)
        if self._journal is not None:
            self._lease.done(intent, UndoResult(True, "the experiment asked to leave without them"))
            return Played()
        if not self._rolling.is_set():
            self._watch.tell("phase_began", phase="rollback")
        first = self._began if self._hung else 0
        played = await self._watch.through(in_thread(lambda: play(undo.data, undo.limit_s, first)))
        if self._hung:
            played.failures.insert(0, f"{self._current}: {self._hung}")
        for run in played.runs:
            ok = run["status"] == "succeeded"
            name = run.get("activity", {}).get("name", "")
            self._watch.tell("rolled_back", says=name, ok=ok, message="done" if ok else "failed")
        self._lease.done(intent, played.result)
        return played

    def _finish(self, started_at: str, played: Played) -> Journal:
        experiment, watch = self._experiment, self._watch
        document = self._journal or journal_head({**experiment.written, "dry": None}, started_at)
        if self._journal is None:
            document["status"] = "aborted" if self._invalid else "interrupted"
            document["rollbacks"] = played.runs
            document["end"] = time_text(now_us())
            document["duration"] = watch.elapsed_s
        failures = [*played.failures, *rollback_failures_of(document)]
        failures = list(dict.fromkeys(failures))
        stopped = self._stopped or self._died
        verdict = (
            Verdict(Outcome.INVALID, False, False, False, (self._invalid,))
            if self._invalid is not None
            else verdict_of(document, stopped=stopped, rollback_failures=failures, dry_run=self._dry_run)
        )
        result = ExperimentResult(
            experiment_name=experiment.name,
            success=verdict.success,
            steady_state_before=verdict.before,
            steady_state_after=verdict.after,
            duration_seconds=round(watch.elapsed_s, 6),
            error=error_of(verdict.errors, failures),
            started_at=started_at,
            outcome=verdict.outcome,
            rollback_ok=not failures,
            action_error=verdict.action_error,
            dry_run=self._dry_run,
        )
        watch.tell("run_ended", outcome=str(result.outcome), error=result.error)
        document[OURS] = ours(
            result,
            file=str(experiment.file),
            plan=plan_of(experiment),
            reasons=verdict.reasons,
            undone=[event.data for event in watch.events if event.kind == "rolled_back"],
            events=watch.events,
            warnings=watch.warnings,
        )
        return Journal(result, document)


def plan_of(experiment: ToolkitExperiment) -> list[dict[str, Any]]:
    """What it would do, as far as the file says."""
    written = experiment.written
    hypothesis = _mapping(written.get("steady-state-hypothesis"))
    parts = (
        ("gate", hypothesis.get("probes")),
        ("method", written.get("method")),
        ("recheck", hypothesis.get("probes")),
        ("rollback", written.get("rollbacks")),
    )
    return [
        {
            "phase": phase,
            "name": str(activity.get("name") or activity.get("ref")),
            "kind": str(_mapping(activity.get("provider")).get("type") or "ref"),
        }
        for phase, activities in parts
        for activity in (activities if isinstance(activities, list) else ())
        if isinstance(activity, Mapping)
    ]


def _mapping(value: object) -> Mapping[str, Any]:
    """What is written may be anything: whether it is valid, the library says."""
    return value if isinstance(value, Mapping) else {}
