"""What ends a run before its end, in one place for both forms of experiments; and the lease kept alive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from faultkit.chaos.experiment.journal import Event
from faultkit.chaos.ledger import RENEWALS_A_LEASE, Lease
from faultkit.chaos.lever import Lever

T = TypeVar("T")
_TICK_S = 0.5
"""How often the lever is looked at."""


class Watch:
    """Tells events to whoever listens and to the lease, and says when to stop."""

    def __init__(
        self, lease: Lease, lever: Lever, stopping: asyncio.Event, on_event: Callable[[Event], None]
    ) -> None:
        self._lease = lease
        self._lever = lever
        self._stopping = stopping
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.events: list[Event] = []
        self.warnings: list[str] = []

    @property
    def elapsed_s(self) -> float:
        return self._loop.time() - self._began

    def tell(self, kind: str, **data: Any) -> None:
        """A listener that fails, or a disk that is full, is no reason to lose a rollback."""
        event = Event(kind, round(self.elapsed_s, 6), data)
        self.events.append(event)
        try:
            self._on_event(event)
        except Exception as error:
            self._warn(f"an event could not be handed on: {type(error).__name__}: {error}")
        self._lease.note(kind, at_s=event.at_s, **data)
        if self._lease.trouble:
            self._warn(f"not all of it is in the ledger: {self._lease.trouble}")

    def why_not_begin(self) -> str | None:
        stop = self._lever.pulled()
        return None if stop is None else f"the stop lever is pulled: {stop.why}"

    async def over(self, work: asyncio.Task[None], most_s: float) -> str | None:
        """Waits for the work, or for a reason to stop, and says it. The work is left as it is."""
        told = asyncio.create_task(self._stopping.wait())
        deadline = self._loop.time() + most_s
        renew_at = self._loop.time() + self._lease.lease_s / RENEWALS_A_LEASE
        try:
            while True:
                left_s = deadline - self._loop.time()
                if left_s <= 0:
                    return f"its time of {most_s:g} s is over"
                await asyncio.wait(
                    {work, told}, timeout=min(_TICK_S, left_s), return_when=asyncio.FIRST_COMPLETED
                )
                if work.done():
                    return None
                if told.done():
                    return "it was told to stop"
                if (why := self.why_not_begin()) is not None:
                    return why
                if self._loop.time() >= renew_at:
                    renew_at = self._loop.time() + self._lease.lease_s / RENEWALS_A_LEASE
                    if not self._lease.renew():
                        return "its lease has lapsed"
        finally:
            told.cancel()

    async def through(self, work: Awaitable[T]) -> T:
        """To the end of the work, with the lease kept alive: nobody else is to undo what we are undoing."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease.lease_s / RENEWALS_A_LEASE)
            self._lease.renew()
        return task.result()

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
