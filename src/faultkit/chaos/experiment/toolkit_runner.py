"""Runs a Chaos Toolkit experiment: the library runs it in a process, and this adds Faultkit's guarantees.

The experiment is rolled back whatever happens, ends within its time, reports events as they happen, and has
an outcome and a journal. The library's journal is not changed, only extended by one key;
docs/chaos-toolkit.md lists where it and the outcome differ.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from faultkit.base.documents.yaml_text import read_document
from faultkit.base.errors import FaultkitError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.experiment_model import (
    FAULTKIT_KEY,
    Event,
    ExperimentResult,
    Journal,
    Outcome,
    ToolkitExperiment,
    error_of,
    faultkit_section,
    journal_head,
)
from faultkit.chaos.experiment.run_monitor import RunMonitor
from faultkit.chaos.experiment.toolkit_process import (
    Order,
    PlayedRollbacks,
    ToolkitProcess,
    play_rollbacks,
    read_messages,
)
from faultkit.chaos.experiment.toolkit_verdict import (
    ToolkitVerdict,
    activity_failure,
    activity_of,
    left_out_by,
    name_of,
    rollback_failures_of,
    verdict_of,
)
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import Lease
from faultkit.chaos.safety.undo import Undo, UndoResult
from faultkit.chaos.steps.step_work import run_in_thread

_TYPES_OF_PHASE = {
    "gate": ("probe",),
    "method": ("action", "probe"),
    "recheck": ("probe",),
    "rollback": ("action",),
}
_GRACE_S = 5.0
"""From an interruption to the first rollback or the end: the library waits for background activities."""


class ToolkitRunner:
    """One run of one experiment. It must be made inside the run's event loop."""

    def __init__(
        self,
        experiment: ToolkitExperiment,
        lease: Lease,
        switch: KillSwitch,
        limits: Limits,
        on_event: Callable[[Event], None],
        dry_run: bool,
        stopping: asyncio.Event,
    ) -> None:
        self._experiment = experiment
        self._lease = lease
        self._limits = limits
        self._dry_run = dry_run
        self._monitor = RunMonitor(lease, switch, stopping, on_event)
        self._monitor.warnings += _unused_variables(experiment)
        self._order = Order(
            "gate" if dry_run else "run",
            os.path.abspath(experiment.file),
            experiment.settings,
            experiment.flags,
        )
        self._left_out = left_out_by(experiment.flags.dry)
        self._invalid: str | None = None
        self._stopped: str | None = None
        self._died: str | None = None
        self._journal: dict[str, Any] | None = None
        self._undo: Undo | None = None
        self._intent: str | None = None
        self._rollbacks_started = asyncio.Event()
        self._rollbacks_played = False
        """True once the process itself has played all rollbacks."""
        self._rollback_count = 0
        """Number of rollbacks that were started; `_rollback_name` is the name of the last."""
        self._rollback_name = ""
        self._rollback_progress = asyncio.Event()
        self._rollback_failures: list[str] = []
        """Failures of rollbacks, as the process reported them."""
        self._hung: str | None = None

    async def run(self) -> Journal:
        """Run the experiment and return its journal."""
        monitor, experiment = self._monitor, self._experiment
        started_at = time_text(now_us())
        monitor.record("run_began", experiment=experiment.name, dry_run=self._dry_run)
        played = PlayedRollbacks()
        try:
            self._limits.check_environment()
            self._limits.capped("most_duration_s", experiment.max_duration_s, "max_duration")
            self._stopped = monitor.why_not_start()
        except FaultkitError as error:
            self._invalid = str(error)
        if self._invalid is None and self._stopped is None:
            await self._run()
            played = await self._play_missing_rollbacks()
        return self._finish(started_at, played)

    async def _run(self) -> None:
        process = ToolkitProcess()
        reader, transport = await read_messages(process)
        process.order(self._order)
        reading = asyncio.create_task(self._read_messages(process, reader.queue))
        guard = asyncio.create_task(self._kill_if_hung(process))
        try:
            self._stopped = await self._monitor.wait_for(reading, self._experiment.max_duration_s)
            if self._stopped is not None and self._rollbacks_started.is_set():
                self._stopped = None  # The rollbacks have started, and each has its limit: let them finish.
            if self._stopped is not None:
                self._monitor.record("stopping", why=self._stopped)
                await self._interrupt(process, reading)
            await self._monitor.finish(asyncio.wait({reading}))
            if (error := reading.exception()) is not None:
                self._died = f"{type(error).__name__}: {error}"
        finally:
            guard.cancel()
            reading.cancel()
            transport.close()
            output_end = await run_in_thread(process.close)
            if self._journal is None and self._invalid is None and self._died is None:
                lines = output_end.splitlines()
                self._died = f"its process ended early{': ' + lines[-1] if lines else ''}"

    async def _interrupt(self, process: ToolkitProcess, reading: asyncio.Task[None]) -> None:
        process.interrupt()
        started = asyncio.create_task(self._rollbacks_started.wait())
        try:
            done, _ = await asyncio.wait(
                {reading, started}, timeout=_GRACE_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            started.cancel()
        if not done:
            process.kill()

    async def _kill_if_hung(self, process: ToolkitProcess) -> None:
        """Kill the process if a rollback takes longer than its limit: the library has no limit of its own."""
        await self._rollbacks_started.wait()
        while True:
            self._rollback_progress.clear()
            try:
                await asyncio.wait_for(self._rollback_progress.wait(), self._experiment.rollback_limit_s)
            except TimeoutError:
                self._hung = f"it did not end within {self._experiment.rollback_limit_s:g} s"
                process.kill()
                return

    async def _read_messages(
        self, process: ToolkitProcess, queue: asyncio.Queue[dict[str, Any] | None]
    ) -> None:
        while (message := await queue.get()) is not None:
            kind = message.pop("kind")
            if kind == "valid":
                self._intend_rollbacks(message, process)
                process.go_on()
            elif kind == "invalid":
                self._invalid = message["why"]
            elif kind == "journal":
                self._journal = message["journal"]
            else:
                self._record_message(kind, message)

    def _intend_rollbacks(self, valid: dict[str, Any], process: ToolkitProcess) -> None:
        if self._dry_run or "action" in self._left_out or not valid["count"]:
            return
        if valid["rollbacks"] == "never":
            self._monitor.warnings.append("the rollbacks are not played: the rollback strategy is never")
        if valid["rollbacks"] != "always":
            return
        experiment = self._experiment
        order = {
            "file": self._order.file,
            "settings": self._order.settings,
            "flags": asdict(self._order.flags),
            "content": valid["experiment"],
        }
        data = {
            "order": order,
            "folder": os.getcwd(),
            "each_s": experiment.rollback_limit_s,
            **process.identity,
        }
        listed = valid["experiment"].get("rollbacks") or []
        names = ", ".join(str(each.get("name") or each.get("ref")) for each in listed)
        says = f"play the rollbacks of {experiment.name} ({names})"
        limit_s = experiment.rollback_limit_s * valid["count"]
        self._undo = Undo("toolkit_rollbacks", data, says, limit_s)
        self._intent = self._lease.intend(self._undo)

    def _record_message(self, kind: str, message: dict[str, Any]) -> None:
        record = self._monitor.record
        if kind == "said":
            record("said", **message)
        elif kind == "phase":
            self._begin_phase(message["phase"])
        elif kind == "state":
            if "probe" not in self._left_out:
                record("phase_ended", **message)
        elif kind in ("activity_began", "activity_ended") and message["type"] in self._left_out:
            pass
        elif kind == "activity_began" and message["type"] == "action":
            record("action_began", name=message["name"], says=message["name"])
        elif kind == "activity_ended":
            self._record_activity(message)
        elif kind == "rollbacks_began":
            self._begin_phase("rollback")
            self._rollbacks_started.set()
        elif kind == "rollback_began":
            self._rollback_count += 1
            self._rollback_name = message["name"]
            self._rollback_progress.set()
        elif kind == "rollback_ended":
            self._rollback_progress.set()
            ok = message["why"] is None
            if not ok:
                self._rollback_failures.append(f"{message['name']}: {message['why']}")
            if "action" not in self._left_out:
                record("rolled_back", says=message["name"], ok=ok, message=message["why"] or "done")
        elif kind == "rollbacks_ended":
            self._rollbacks_played = True

    def _begin_phase(self, phase: str) -> None:
        left_out = all(kind in self._left_out for kind in _TYPES_OF_PHASE[phase])
        self._monitor.record("phase_began", phase=phase, **({"left_out": True} if left_out else {}))

    def _record_activity(self, message: dict[str, Any]) -> None:
        ok, name = message["status"] == "succeeded", message["name"]
        rest = {"why": message["why"], "duration_s": message["duration_s"]}
        if message["type"] == "action":
            self._monitor.record("action_ended", name=name, ok=ok, **rest)
        else:
            # Whether the tolerance is met is reported with the whole state.
            met = None if ok else False
            rest["measured"] = message["measured"]
            self._monitor.record("check_ended", phase=message["phase"], name=name, met=met, **rest)

    async def _play_missing_rollbacks(self) -> PlayedRollbacks:
        """Play the rollbacks that the process could not, because it was killed or died. A run with a journal
        chose itself not to play them."""
        if self._undo is None or self._intent is None:
            return PlayedRollbacks()
        undo, intent = self._undo, self._intent
        if self._rollbacks_played:
            message = "; ".join(self._rollback_failures) or "played by the experiment itself"
            self._lease.record_undo(intent, UndoResult(not self._rollback_failures, message))
            return PlayedRollbacks(failures=self._rollback_failures)
        if self._journal is not None:
            self._lease.record_undo(intent, UndoResult(True, "the experiment asked to leave without them"))
            return PlayedRollbacks()
        if not self._rollbacks_started.is_set():
            self._monitor.record("phase_began", phase="rollback")
        first = self._rollback_count if self._hung else 0
        played = await self._monitor.finish(
            run_in_thread(lambda: play_rollbacks(undo.data, undo.limit_s, first))
        )
        if self._hung:
            played.failures.insert(0, f"{self._rollback_name}: {self._hung}")
        for run in played.runs:
            why, name = activity_failure(run), name_of(activity_of(run) or {})
            self._monitor.record("rolled_back", says=name, ok=why is None, message=why or "done")
        self._lease.record_undo(intent, played.result)
        return played

    def _finish(self, started_at: str, played: PlayedRollbacks) -> Journal:
        experiment, monitor = self._experiment, self._monitor
        # A control may have removed a part of the journal.
        document = journal_head({**experiment.written, "dry": None}, started_at) | (self._journal or {})
        if self._journal is None:
            document["status"] = "aborted" if self._invalid else "interrupted"
            document["rollbacks"] = played.runs
            document["end"] = time_text(now_us())
            document["duration"] = monitor.elapsed_s
        failures = list(dict.fromkeys([*played.failures, *rollback_failures_of(document)]))
        stopped = self._stopped or self._died
        verdict = (
            ToolkitVerdict(Outcome.INVALID, False, False, False, (self._invalid,))
            if self._invalid is not None
            else verdict_of(
                document if self._journal is None else self._journal,
                stopped=stopped,
                rollback_failures=failures,
                dry_run=self._dry_run,
                dry=self._order.flags.dry,
            )
        )
        result = ExperimentResult(
            experiment_name=experiment.name,
            success=verdict.success,
            steady_state_before=verdict.before,
            steady_state_after=verdict.after,
            duration_seconds=round(monitor.elapsed_s, 6),
            error=error_of(verdict.errors, failures),
            started_at=started_at,
            outcome=verdict.outcome,
            rollback_ok=not failures,
            action_error=verdict.action_error,
            dry_run=self._dry_run,
        )
        monitor.record("run_ended", outcome=str(result.outcome), error=result.error)
        document[FAULTKIT_KEY] = faultkit_section(
            result,
            file=str(experiment.file),
            plan=plan_of(experiment),
            reasons=verdict.reasons,
            undone=[event.data for event in monitor.events if event.kind == "rolled_back"],
            events=monitor.events,
            warnings=[*monitor.warnings, *verdict.warnings],
        )
        return Journal(result, document)


def plan_of(experiment: ToolkitExperiment) -> list[dict[str, Any]]:
    """Return what the experiment would do, as far as its file says."""
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


def _unused_variables(experiment: ToolkitExperiment) -> list[str]:
    """Return a warning for each variable that the experiment lacks: the library ignores it."""
    written, flags = experiment.written, experiment.flags
    configuration = _mapping(written.get("configuration"))
    names = [text.partition("=")[0].split(":")[0] for text in flags.variables]
    found = [
        f"--var {name} does nothing: the configuration of the experiment has no such key"
        for name in names
        if name not in configuration
    ]
    for path, text in flags.var_files:
        document = read_document(text, path) if path.endswith((".yaml", ".yml", ".json")) else None
        for part, values in _mapping(document).items():
            if part not in ("configuration", "secrets"):
                found.append(f"--var-file {path}: {part} does nothing: expected configuration or secrets")
                continue
            found += [
                f"--var-file {path}: {part}.{name} does nothing: the {part} of the experiment has no such key"
                for name in _mapping(values)
                if name not in _mapping(written.get(part))
            ]
    return found


def _mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, empty for any other value: only the library knows whether the file is valid."""
    return value if isinstance(value, Mapping) else {}
