"""Running an experiment: gate → method → re-check, and then the rollback, whatever happened.

    resolve    what cannot work is said before anything is begun
    gate       the steady state; if it is not there, nothing is begun
    method     step by step; a failed action ends it
    during     the same checks beside the method, if asked
    recheck    the steady state again
    rollback   always, once the method was begun: last first, each with its own limit

The run stops early if it is cancelled, told to stop or out of time, if the lever is pulled, or if its lease
lapses.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from faultkit.chaos.experiment.course import Course
from faultkit.chaos.experiment.file import AnyExperiment
from faultkit.chaos.experiment.journal import Event, Journal
from faultkit.chaos.experiment.model import ToolkitExperiment
from faultkit.chaos.ledger import Lease
from faultkit.chaos.lever import Lever
from faultkit.chaos.limits import Limits

if TYPE_CHECKING:
    from faultkit.chaos.registry import FaultRegistry


async def run_experiment(
    experiment: AnyExperiment,
    *,
    lease: Lease,
    lever: Lever,
    limits: Limits,
    registry: FaultRegistry | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    seed: int | str | None = None,
    dry_run: bool = False,
    stopping: asyncio.Event | None = None,
) -> Journal:
    """Never raises for what the experiment does. Cancelled, it rolls back before it is gone: `on_event` gets
    its end, and the lease its events. The lease is the caller's to end."""
    stopping = stopping or asyncio.Event()
    if isinstance(experiment, ToolkitExperiment):
        from faultkit.chaos.toolkit.run import ToolkitRun

        run = ToolkitRun(experiment, lease, lever, limits, on_event, dry_run, stopping)
        task = asyncio.create_task(run.whole())
    else:
        course = Course(experiment, lease, lever, limits, registry, on_event, seed, dry_run, stopping)
        task = asyncio.create_task(course.whole())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stopping.set()
        while not task.done():
            # Again and again, if it must be: who cancels twice gets no less of a rollback.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        raise
