"""Progress of one call: reported by threads as often as they like, passed on by the event loop now and then.

What goes out only ever grows, as the protocol asks, and no faster than anybody reads it. A call that reports
nothing costs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import Awaitable, Callable

import anyio

EVERY_S = 0.2
"""At most so often something goes out."""

Send = Callable[[float, float | None, str], Awaitable[None]]


class Progress:
    """Made and stopped in the event loop; `report` may be called from any thread."""

    def __init__(self, send: Send, every_s: float = EVERY_S) -> None:
        self._send = send
        self._every_s = every_s
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._lock = threading.Lock()
        self._latest: tuple[float, float | None, str] | None = None
        self._most = -math.inf
        self._task: asyncio.Task[None] | None = None
        self._is_over = self._is_sending = False

    def report(self, done: float, of: float | None, message: str) -> None:
        with self._lock:
            if not (math.isfinite(done) and done > self._most):
                return
            is_first, self._most = self._latest is None, done
            self._latest = (done, of, message)
        if is_first:
            with contextlib.suppress(RuntimeError):  # The loop is gone, and with it whoever listens.
                self._loop.call_soon_threadsafe(self._woken)

    async def finish(self) -> None:
        """The last of it goes out, unless it has already."""
        self._is_over = True
        if self._task is not None:
            if not self._is_sending:
                self._task.cancel()
            await asyncio.wait([self._task])
        await self._flush()

    async def stop(self) -> None:
        """Nothing more goes out."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self._task])

    def _woken(self) -> None:
        if self._task is None and not self._is_over:
            self._task = self._loop.create_task(self._run())
        self._wake.set()

    async def _run(self) -> None:
        while not self._is_over:
            await self._wake.wait()
            self._wake.clear()
            await self._flush()
            if not self._is_over:
                await asyncio.sleep(self._every_s)

    async def _flush(self) -> None:
        with self._lock:
            latest, self._latest = self._latest, None
        if latest is not None:
            self._is_sending = True
            await self._send(*latest)
            self._is_sending = False
