"""Slows callers while the log cannot keep up: who comes to call waits at the door, and all else is served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from faultkit.audit.writer import Writer
from faultkit.base.http.server import Answer, Request
from faultkit.mcp.failures.door import Door
from faultkit.mcp.failures.tool import Caller
from faultkit.mcp.wire.exchange import Exchange

_LOOK_S = 0.005
_Comer: TypeAlias = tuple[Request, Answer, Callable[[str], None]]


class SlowingDoor:
    """For one event loop. Those who wait are let in one after the other, in the order in which they came."""

    def __init__(self, door: Door, writer: Writer) -> None:
        self._door = door
        self._writer = writer
        self._waiting: deque[_Comer] = deque()
        self._opening: asyncio.Task[None] | None = None

    def admit(self, request: Request, answer: Answer, go_on: Callable[[str], None]) -> None:
        if not self._waiting and not self._writer.is_behind:
            self._door.admit(request, answer, go_on)
            return
        self._waiting.append((request, answer, go_on))
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())

    def foreign(self, request: Request) -> None:
        self._door.foreign(request)

    def identify(self, exchange: Exchange) -> Caller:
        return self._door.identify(exchange)

    async def close(self) -> None:
        self._waiting.clear()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        since_s = loop.time()
        while self._waiting:
            if self._writer.is_behind:
                if loop.time() - since_s > self._writer.block_s:
                    self._writer.wait_no_more()
                await asyncio.sleep(_LOOK_S)
                continue
            since_s = loop.time()
            comer = self._waiting.popleft()
            if comer[1].is_open:
                # Not here: what goes wrong with one is not the end of the others.
                loop.call_soon(self._door.admit, *comer)
            await asyncio.sleep(0)
        self._opening = None
