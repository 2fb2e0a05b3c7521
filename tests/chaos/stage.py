"""Stage: everything that a run of an experiment needs; and functions for its steps to call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from faultkit.chaos.experiment.experiment_file import AnyExperiment, read_experiment
from faultkit.chaos.experiment.experiment_model import Event, Experiment, Journal
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.chaos.runner import run_experiment
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.ledger import Ledger

CALLS: list[str] = []
"""The calls of the functions below, in order."""
STATE: dict[str, Any] = {}


def note(text: str = "noted", answer: Any = True) -> Any:
    CALLS.append(text)
    return answer


def state(key: str) -> Any:
    return STATE.get(key)


def put(key: str, value: Any) -> None:
    CALLS.append(f"put {key} {value}")
    STATE[key] = value


def fail(text: str = "it broke") -> None:
    CALLS.append("fail")
    raise ValueError(text)


def is_even(value: int) -> bool:
    return value % 2 == 0


HERE = __name__


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return a step that calls one of the functions above."""
    return {"python": {"function": f"{HERE}:{name}", "arguments": arguments}}


def begin() -> None:
    CALLS.clear()
    STATE.clear()


def experiment_of(
    document: Mapping[str, Any], folder: Path, env: Mapping[str, str] | None = None
) -> Experiment:
    import json

    found, problems = read_experiment(json.dumps(document), str(folder / "experiment.json"), env or {})
    assert problems == []
    assert isinstance(found, Experiment)
    return found


class Stage:
    """A state folder, a ledger and a kill switch to run experiments with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = Ledger(folder / "state")
        self.kill_switch = KillSwitch(folder / "state")
        self.limits = Limits()
        self.registry: FaultRegistry | None = None
        self.events: list[Event] = []
        self.stopping: asyncio.Event | None = None
        self.on_event: Callable[[Event], None] = lambda event: None

    def run(self, experiment: AnyExperiment, **options: Any) -> Journal:
        return asyncio.run(self.arun(experiment, **options))

    async def arun(self, experiment: AnyExperiment, lease_s: float = 60.0, **options: Any) -> Journal:
        lease = self.ledger.open("a test", lease_s, guarded=False)
        stopping = self.stop_event()
        outcome = "cancelled"
        try:
            journal = await run_experiment(
                experiment,
                lease=lease,
                kill_switch=self.kill_switch,
                limits=self.limits,
                registry=self.registry,
                on_event=self._record_event,
                stopping=stopping,
                **options,
            )
            outcome = str(journal.result.outcome)
            return journal
        finally:
            self.left = lease.left
            self.stopping = None
            lease.end(outcome)

    def stop_event(self) -> asyncio.Event:
        """Return the event that stops the current run, or the next one."""
        self.stopping = self.stopping or asyncio.Event()
        return self.stopping

    def _record_event(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]
