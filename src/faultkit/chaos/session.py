"""Chaos as one process does it, for tools and commands: faults, experiments, and what keeps them safe.

Whatever is asked for goes through here: it is refused while the stop lever is pulled, kept within the limits,
written to the ledger before it acts, and told to the audit log and the history.
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

from faultkit.audit.opening import open_store
from faultkit.audit.place import default_store
from faultkit.base.errors import FaultkitError, RunError
from faultkit.base.times import now_us
from faultkit.chaos.audit import Audit
from faultkit.chaos.catalog import USUAL_FOLDER, Catalog, read_catalog
from faultkit.chaos.experiment.file import AnyExperiment
from faultkit.chaos.experiment.journal import Event, Journal
from faultkit.chaos.experiment.run import run_experiment
from faultkit.chaos.faults import ChaosFault
from faultkit.chaos.history import History
from faultkit.chaos.holding import Holding
from faultkit.chaos.injection import Injection
from faultkit.chaos.ledger import USUAL_LEASE_S, Ledger, default_state_dir
from faultkit.chaos.lever import Lever
from faultkit.chaos.limits import Limits, limits_of
from faultkit.chaos.outcome import Outcome
from faultkit.chaos.registry import FaultRegistry

STATE_VARIABLE = "FAULT_CHAOS_STATE"
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class ChaosSettings:
    """What whoever starts the program says; no tool argument changes any of it."""

    state_dir: Path
    """Of the ledger and the stop lever."""
    store: str
    """Of the history and the audit log."""
    experiments: Path = Path(USUAL_FOLDER)
    limits: Limits = field(default_factory=Limits)
    lease_s: float = USUAL_LEASE_S
    source: str = "mcp"
    transport: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """For the variables of experiments."""


def state_dir_of(env: Mapping[str, str]) -> Path:
    return Path(env.get(STATE_VARIABLE) or default_state_dir(env)).absolute()


def usual_settings(env: Mapping[str, str]) -> ChaosSettings:
    return ChaosSettings(
        state_dir_of(env),
        env.get("FAULT_STORE") or str(default_store(env)),
        limits=limits_of(None, env),
        env=env,
    )


class ChaosSession:
    """Any thread may use it. TargetError if the store cannot be had: what is not told is not begun."""

    def __init__(self, settings: ChaosSettings) -> None:
        self.settings = settings
        self.ledger = Ledger(settings.state_dir)
        self.lever = Lever(settings.state_dir)
        self._store = open_store(settings.store)
        self.history = History(self._store)
        self.audit = Audit(self._store, settings.source, settings.transport)
        self._holding = Holding(
            self.ledger, self.lever, f"faults of process {os.getpid()}", settings.lease_s, self._let_go
        )
        self.registry = FaultRegistry(limits=settings.limits, lease=self._holding, lever=self.lever)
        self._running: set[str] = set()
        self._lock = threading.Lock()
        # What a guardian undid meanwhile is not in the log yet.
        self.audit.add_undone(self.ledger)

    def __enter__(self) -> ChaosSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End every effect. What cannot be taken back stays in the ledger, for `fault chaos recover`."""
        with contextlib.suppress(FaultkitError):
            self.registry.close()
        self._holding.close()
        self.audit.add_undone(self.ledger)
        self._store.close()

    # --- faults -------------------------------------------------------------------------------

    def register(self, fault: ChaosFault, ttl_s: float | None = None) -> None:
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
        """Whoever waits is let go when it is cancelled or the stop lever is pulled."""
        given: dict[str, Any] = {"fault_name": name, "call_id": call_id}
        with self._audited("inject", given):
            injection = await self._bounded(self.registry.ainject(name, call_id), cancelled)
            given["was_triggered"] = injection.was_triggered
            given["effect"] = None if injection.effect is None else injection.effect.says
            return injection

    def remove(self, name: str) -> bool:
        with self._audited("remove", {"fault_name": name}):
            return self.registry.remove(name)

    # --- experiments --------------------------------------------------------------------------

    def catalog(self) -> Catalog:
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
        """Once `stop` is set, it rolls back and ends. What comes of it is kept, unless it was a dry run or
        nothing was begun at all. RunError while the lever is pulled, while the same experiment runs, and if
        nothing can be written down."""
        given: dict[str, Any] = {"experiment_name": experiment.name, "dry_run": dry_run, "seed": seed}
        with self._audited("run", given), self._once(experiment.name):
            self.check_lever()
            lease = self.ledger.open(
                f"experiment {experiment.name}", self.settings.lease_s, guarded=not dry_run
            )
            outcome = "ended early"
            stopping = asyncio.Event()
            looking = asyncio.ensure_future(_passed_on(stop, stopping))
            try:
                journal = await run_experiment(
                    experiment,
                    lease=lease,
                    lever=self.lever,
                    limits=self.settings.limits,
                    registry=self.registry,
                    on_event=on_event,
                    seed=seed,
                    dry_run=dry_run,
                    stopping=stopping,
                )
                outcome = given["outcome"] = str(journal.result.outcome)
            finally:
                looking.cancel()
                lease.end(outcome)
        self.audit.add_undone(self.ledger)
        return self._kept(journal)

    def _kept(self, journal: Journal) -> Journal:
        """A store that is full or gone costs the history, not the result."""
        if journal.result.outcome is not Outcome.INVALID:
            try:
                self.history.add(journal)
            except RunError as error:
                journal.document["faultkit"]["warnings"].append(f"not kept in the history: {error}")
        if self.audit.trouble:
            journal.document["faultkit"]["warnings"].append(self.audit.trouble)
        return journal

    # --- stop ---------------------------------------------------------------------------------

    def check_lever(self) -> None:
        stop = self.lever.pulled()
        if stop is not None:
            raise RunError(
                f"the stop lever is pulled: nothing new begins ({stop.why}); `fault chaos stop --release` "
                "takes it back"
            )

    def _let_go(self) -> None:
        """The lever was pulled, or the lease is lost."""
        self.registry.close()
        self.audit.add_undone(self.ledger)

    # --- inside -------------------------------------------------------------------------------

    async def _bounded(
        self, work: Coroutine[Any, Any, Injection], cancelled: threading.Event | None
    ) -> Injection:
        task = asyncio.create_task(work)
        try:
            while True:
                await asyncio.wait({task}, timeout=_LOOK_EVERY_S)
                if task.done():
                    return task.result()
                if cancelled is not None and cancelled.is_set():
                    raise RunError("stopped: the call was cancelled")
                self.check_lever()
        finally:
            task.cancel()
            await asyncio.wait({task})

    @contextlib.contextmanager
    def _once(self, name: str) -> Iterator[None]:
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
            error = None
        except FaultkitError as trouble:
            error = str(trouble)
            raise
        finally:
            shown = {key: value for key, value in given.items() if value not in (None, [], {})}
            self.audit.add(what, shown, began_us, error)


async def _passed_on(told: threading.Event | None, stopping: asyncio.Event) -> None:
    """From whatever thread or signal it comes to the event loop that heeds it."""
    while told is not None and not stopping.is_set():
        await asyncio.sleep(_LOOK_EVERY_S)
        if told.is_set():
            stopping.set()
