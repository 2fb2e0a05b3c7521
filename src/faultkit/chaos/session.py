"""ChaosSession: everything that a command or a server does with faults and experiments goes through it.

A request is refused while the kill switch is pulled, kept within the limits, written to the ledger before it
has an effect, and recorded in the audit log and the history.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultkit.audit.log_file import default_store
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import FaultkitError, RunError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.experiment_file import USUAL_FOLDER, AnyExperiment, Catalog, read_catalog
from faultkit.chaos.experiment.experiment_model import (
    FAULTKIT_KEY,
    Event,
    ExperimentResult,
    Journal,
    Outcome,
    error_of,
    faultkit_section,
    journal_head,
)
from faultkit.chaos.named_faults.chaos_fault import ChaosFault, Injection
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.chaos.records import RUN_OWNER, ChaosAudit, ResultHistory
from faultkit.chaos.runner import run_experiment
from faultkit.chaos.safety.chaos_limits import Limits, limits_of
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import USUAL_LEASE_S, LeaseKeeper
from faultkit.chaos.safety.ledger import Ledger, default_state_dir
from faultkit.chaos.safety.undo import Undo

STATE_VARIABLE = "FAULT_CHAOS_STATE"
DRY_OWNER = "dry run of experiment "
_POLL_S = 0.05
_FAILED = (Outcome.INVALID, Outcome.ABORTED, Outcome.ROLLBACK_FAILED)
"""The outcomes of runs that did not do what they are for: in the audit log they are errors."""


@dataclass(frozen=True, slots=True)
class ChaosSettings:
    """Settings of the operator who starts the program; no tool argument changes any of them."""

    state_dir: Path
    """Folder of the ledger and the kill switch."""
    store: str
    """Address of the store of the history and the audit log."""
    experiments: Path = Path(USUAL_FOLDER)
    limits: Limits = field(default_factory=Limits)
    lease_s: float = USUAL_LEASE_S
    source: str = "mcp"
    transport: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """Values of the variables in experiments."""


def state_dir_of(env: Mapping[str, str]) -> Path:
    """Return the folder of the ledger and the kill switch."""
    return Path(env.get(STATE_VARIABLE) or default_state_dir(env)).absolute()


def usual_settings(env: Mapping[str, str]) -> ChaosSettings:
    """Return the settings that the environment gives."""
    return ChaosSettings(
        state_dir_of(env),
        env.get("FAULT_STORE") or str(default_store(env)),
        limits=limits_of(None, env),
        env=env,
    )


class ChaosSession:
    """The faults and experiments of one process. Thread-safe.

    Raises TargetError if the store is unavailable: nothing starts that cannot be recorded."""

    def __init__(self, settings: ChaosSettings) -> None:
        self.settings = settings
        self.ledger = Ledger(settings.state_dir)
        self.kill_switch = KillSwitch(settings.state_dir)
        self._store = open_store(settings.store)
        self.history = ResultHistory(self._store)
        self.audit = ChaosAudit(self._store, settings.source, settings.transport)
        owner = f"faults of process {os.getpid()}"
        self._lease_keeper = LeaseKeeper(
            lambda: self.ledger.open(owner, settings.lease_s), self.kill_switch, self._end_effects
        )
        self.registry = FaultRegistry(
            limits=settings.limits, lease=self._lease_keeper, kill_switch=self.kill_switch
        )
        self._running: set[str] = set()
        self._lock = threading.Lock()
        # Guardians may have undone effects since the last session ended.
        self.audit.add_undone(self.ledger)
        self.history.add_killed(self.ledger)

    def __enter__(self) -> ChaosSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End every effect. What cannot be undone stays in the ledger, for `fault chaos recover`."""
        with contextlib.suppress(FaultkitError):
            self.registry.close()
        self._lease_keeper.close()
        self.audit.add_undone(self.ledger)
        self._store.close()

    # --- faults -------------------------------------------------------------------------------

    def register(self, fault: ChaosFault, ttl_s: float | None = None) -> None:
        """Register a fault; it is removed after `ttl_s` seconds."""
        given = {
            "fault_name": fault.name,
            "fault_type": fault.fault_type,
            "probability": fault.probability,
            "duration_seconds": fault.duration_s,
            "targets": list(fault.targets),
            "metadata": dict(fault.metadata),
            "ttl_seconds": ttl_s,
        }
        with self._audited("register", given):
            self.registry.register(fault, ttl_s=ttl_s)

    async def inject(
        self, name: str, call_id: int | str | None = None, cancelled: threading.Event | None = None
    ) -> Injection:
        """Inject a fault. A delayed caller continues when `cancelled` is set or the switch is pulled."""
        given: dict[str, Any] = {"fault_name": name, "call_id": call_id}
        with self._audited("inject", given):
            injection = await self._run_stoppable(self.registry.ainject(name, call_id), cancelled)
            given["was_triggered"] = injection.was_triggered
            given["effect"] = None if injection.effect is None else injection.effect.says
            return injection

    def remove(self, name: str) -> bool:
        """Remove a fault; return whether there was one."""
        with self._audited("remove", {"fault_name": name}):
            return self.registry.remove(name)

    # --- experiments --------------------------------------------------------------------------

    def catalog(self) -> Catalog:
        """Return the experiments of the experiments folder."""
        return read_catalog(self.settings.experiments, self.settings.env)

    async def run(
        self,
        experiment: AnyExperiment,
        *,
        on_event: Callable[[Event], None] = lambda event: None,
        seed: int | str | None = None,
        dry_run: bool = False,
        stop: threading.Event | None = None,
    ) -> Journal:
        """Run an experiment and return its journal. When `stop` is set, it rolls back and ends.

        The result is kept in the history, unless it was a dry run or nothing was started. Raises RunError
        while the switch is pulled, while the same experiment runs, and if the ledger cannot be written."""
        given: dict[str, Any] = {"experiment_name": experiment.name, "dry_run": dry_run, "seed": seed}
        with self._audited("run", given), self._only_run_of(experiment.name):
            self.check_switch()
            owner = f"{DRY_OWNER if dry_run else RUN_OWNER}{experiment.name}"
            others = [view for view in self.ledger.views() if view.owner == owner]
            runs_elsewhere = any(self.ledger.state_of(view) == "running" for view in others)
            lease = self.ledger.open(owner, self.settings.lease_s, guarded=not dry_run)
            started_at = time_text(now_us())
            outcome = "ended early"
            stopping = asyncio.Event()
            polling = asyncio.ensure_future(_poll_stop(stop, stopping))
            try:
                journal = await run_experiment(
                    experiment,
                    lease=lease,
                    kill_switch=self.kill_switch,
                    limits=self.settings.limits,
                    registry=self.registry,
                    on_event=on_event,
                    seed=seed,
                    dry_run=dry_run,
                    stopping=stopping,
                )
                outcome = given["outcome"] = str(journal.result.outcome)
            except FaultkitError:
                raise
            except Exception as error:
                # A defect of Faultkit. Whether everything was undone is what the ledger says.
                journal = _journal_of_defect(experiment, started_at, error, lease.left, dry_run)
                outcome = given["outcome"] = str(journal.result.outcome)
            finally:
                polling.cancel()
                lease.end(outcome)
            if journal.result.outcome in _FAILED:
                given["error"] = journal.result.error or outcome
        self.audit.add_undone(self.ledger)
        if runs_elsewhere and not dry_run:
            journal.document[FAULTKIT_KEY]["warnings"].append(
                "another process ran this experiment at the same time: each met the faults of the other"
            )
        return self._store_result(journal)

    def _store_result(self, journal: Journal) -> Journal:
        # If the store fails, the history is incomplete, but the result is returned all the same.
        if journal.result.outcome is not Outcome.INVALID:
            try:
                self.history.add(journal)
            except RunError as error:
                journal.document["faultkit"]["warnings"].append(f"not kept in the history: {error}")
        if self.audit.trouble:
            journal.document["faultkit"]["warnings"].append(self.audit.trouble)
        return journal

    # --- stop ---------------------------------------------------------------------------------

    def check_switch(self) -> None:
        """Raise RunError if the kill switch is pulled."""
        order = self.kill_switch.pulled()
        if order is not None:
            raise RunError(
                f"the kill switch is pulled: nothing new begins ({order.why}); `fault chaos stop --release` "
                "takes it back"
            )

    def _end_effects(self) -> None:
        """End every effect, because the switch was pulled or the lease is lost."""
        self.registry.close()
        self.audit.add_undone(self.ledger)

    # --- helpers ------------------------------------------------------------------------------

    async def _run_stoppable(
        self, work: Coroutine[Any, Any, Injection], cancelled: threading.Event | None
    ) -> Injection:
        task = asyncio.create_task(work)
        try:
            while True:
                await asyncio.wait({task}, timeout=_POLL_S)
                if task.done():
                    return task.result()
                if cancelled is not None and cancelled.is_set():
                    raise RunError("stopped: the call was cancelled")
                self.check_switch()
        finally:
            task.cancel()
            await asyncio.wait({task})

    @contextlib.contextmanager
    def _only_run_of(self, name: str) -> Iterator[None]:
        with self._lock:
            if name in self._running:
                raise RunError(f'experiment "{name}" is running already')
            self._running.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(name)

    @contextlib.contextmanager
    def _audited(self, what: str, given: Mapping[str, Any]) -> Iterator[None]:
        began_us = now_us()
        error: str | None = "it ended early"
        try:
            yield
            error = given.get("error")
        except FaultkitError as trouble:
            error = str(trouble)
            raise
        finally:
            shown = {
                key: value for key, value in given.items() if key != "error" and value not in (None, [], {})
            }
            self.audit.add(what, shown, began_us, error)


def _journal_of_defect(
    experiment: AnyExperiment, started_at: str, error: Exception, left: tuple[Undo, ...], dry_run: bool
) -> Journal:
    failures = [f"{undo.says}: not known to be undone; `fault chaos recover` undoes it" for undo in left]
    result = ExperimentResult(
        experiment_name=experiment.name,
        success=False,
        steady_state_before=False,
        steady_state_after=False,
        duration_seconds=0.0,
        error=error_of([f"Stopped: unexpected {type(error).__name__}: {error}"], failures),
        started_at=started_at,
        outcome=Outcome.ROLLBACK_FAILED if left else Outcome.ABORTED,
        rollback_ok=not left,
        dry_run=dry_run,
    )
    document = journal_head(experiment.written, started_at)
    document["status"] = "aborted"
    document[FAULTKIT_KEY] = faultkit_section(result, file=str(experiment.file))
    return Journal(result, document)


async def _poll_stop(stop: threading.Event | None, stopping: asyncio.Event) -> None:
    """Pass `stop`, which any thread or signal handler may set, on to the event loop."""
    while stop is not None and not stopping.is_set():
        await asyncio.sleep(_POLL_S)
        if stop.is_set():
            stopping.set()
