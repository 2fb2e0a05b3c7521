"""Runs an experiment of either form: gate, method, recheck, and then the rollback, whatever happened.

    preflight  refuses what cannot work before anything starts
    gate       checks the steady state; if it is not met, nothing starts
    method     runs step by step; a failed action ends it
    during     repeats checks while the method runs, if the experiment asks for it
    recheck    checks the steady state again
    rollback   always, once the method has started: last first, each undo with its own limit

A run stops early if it is cancelled, asked to stop or out of time, if the kill switch is pulled, or if its
lease lapses. `experiment.experiment_runner` runs the short form, `experiment.toolkit_runner` that of Chaos
Toolkit.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from faultkit.chaos.experiment.experiment_file import AnyExperiment
from faultkit.chaos.experiment.experiment_model import Event, Journal, ToolkitExperiment
from faultkit.chaos.experiment.experiment_runner import ExperimentRunner
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import Lease

if TYPE_CHECKING:
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry


def require_library(experiment: AnyExperiment) -> None:
    """Raise MissingExtra for an experiment of Chaos Toolkit if its library is not installed."""
    if isinstance(experiment, ToolkitExperiment):
        from faultkit.base.installation import require_extra

        require_extra("toolkit", f'the Chaos Toolkit experiment "{experiment.name}"')


async def run_experiment(
    experiment: AnyExperiment,
    *,
    lease: Lease,
    kill_switch: KillSwitch,
    limits: Limits,
    registry: FaultRegistry | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    seed: int | str | None = None,
    dry_run: bool = False,
    stopping: asyncio.Event | None = None,
) -> Journal:
    """Run an experiment and return its journal. Never raises for what the experiment does; raises
    MissingExtra for one of Chaos Toolkit if its library is not installed.

    If it is cancelled, it rolls back first; `on_event` and the lease still get the events. The caller ends
    the lease."""
    stopping = stopping or asyncio.Event()
    if isinstance(experiment, ToolkitExperiment):
        from faultkit.chaos.experiment.toolkit_runner import ToolkitRunner

        require_library(experiment)
        toolkit = ToolkitRunner(experiment, lease, kill_switch, limits, on_event, dry_run, stopping)
        task = asyncio.create_task(toolkit.run())
    else:
        runner = ExperimentRunner(
            experiment, lease, kill_switch, limits, registry, on_event, seed, dry_run, stopping
        )
        task = asyncio.create_task(runner.run())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stopping.set()
        while not task.done():
            # A second cancellation must not cut the rollback short.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        raise
