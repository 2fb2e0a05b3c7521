"""RunMonitor: stops a run early, keeps its lease alive and records its events, for both kinds of runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from faultkit.chaos.experiment.experiment_model import Event
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import RENEWALS_A_LEASE, Lease

T = TypeVar("T")
_POLL_S = 0.5
"""Interval at which the kill switch is read."""


class RunMonitor:
    """The monitor of one run. It must be made inside the run's event loop."""

    def __init__(
        self, lease: Lease, switch: KillSwitch, stopping: asyncio.Event, on_event: Callable[[Event], None]
    ) -> None:
        self._lease = lease
        self._switch = switch
        self._stopping = stopping
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.events: list[Event] = []
        self.warnings: list[str] = []

    @property
    def elapsed_s(self) -> float:
        return self._loop.time() - self._began

    def record(self, kind: str, **data: Any) -> None:
        """Record an event in the list, in the lease's file and through the callback.

        Never raises: a callback that fails, or a full disk, must not cost the rollback."""
        event = Event(kind, round(self.elapsed_s, 6), data)
        self.events.append(event)
        try:
            self._on_event(event)
        except Exception as error:
            self._warn(f"an event could not be handed on: {type(error).__name__}: {error}")
        self._lease.note(kind, at_s=event.at_s, **data)
        if self._lease.trouble:
            self._warn(f"not all of it is in the ledger: {self._lease.trouble}")

    def why_not_start(self) -> str | None:
        """Return why the run may not start, or None."""
        order = self._switch.pulled()
        return None if order is None else f"the kill switch is pulled: {order.why}"

    async def wait_for(self, work: asyncio.Task[None], most_s: float) -> str | None:
        """Wait until the work is done, and return None; or return why to stop it. It is not cancelled."""
        stopped = asyncio.create_task(self._stopping.wait())
        deadline = self._loop.time() + most_s
        renew_at = self._loop.time() + self._lease.lease_s / RENEWALS_A_LEASE
        try:
            while True:
                left_s = deadline - self._loop.time()
                if left_s <= 0:
                    return f"its time of {most_s:g} s is over"
                await asyncio.wait(
                    {work, stopped}, timeout=min(_POLL_S, left_s), return_when=asyncio.FIRST_COMPLETED
                )
                if work.done():
                    return None
                if stopped.done():
                    return "it was asked to stop"
                if (why := self.why_not_start()) is not None:
                    return why
                if self._loop.time() >= renew_at:
                    renew_at = self._loop.time() + self._lease.lease_s / RENEWALS_A_LEASE
                    if not self._lease.renew():
                        return "its lease has lapsed"
        finally:
            stopped.cancel()

    async def finish(self, work: Awaitable[T]) -> T:
        """Wait until the work is done, and renew the lease meanwhile: while this process undoes an effect, no
        other may undo it."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease.lease_s / RENEWALS_A_LEASE)
            self._lease.renew()
        return task.result()

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
