"""Back-pressure on calls while the audit log cannot keep up.

Only calls wait, before they are admitted; everything else on the port is served as usual.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TypeAlias

from faultkit.audit.writer import AuditWriter
from faultkit.base.http.http_server import HttpRequest, ResponseWriter
from faultkit.mcp.failures.failure_service import CallerGate
from faultkit.mcp.failures.failure_tool import Caller
from faultkit.mcp.wire.exchange import Exchange
from faultkit.mcp.wire.http_front import Continuation

_POLL_S = 0.005
_QueuedRequest: TypeAlias = tuple[HttpRequest, ResponseWriter, Continuation]


class BackPressureGate:
    """A `CallerGate` that queues requests while the writer is behind, and admits them in order of arrival."""

    def __init__(self, gate: CallerGate, writer: AuditWriter) -> None:
        """`gate` decides about the requests that are let through."""
        self._gate = gate
        self._writer = writer
        self._queue: deque[_QueuedRequest] = deque()
        self._draining: asyncio.Task[None] | None = None

    def admit(self, request: HttpRequest, answer: ResponseWriter, go_on: Continuation) -> None:
        """Pass the request on to the gate, at once or when the writer has caught up."""
        if not self._queue and not self._writer.is_behind:
            self._gate.admit(request, answer, go_on)
            return
        self._queue.append((request, answer, go_on))
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain())

    def foreign(self, request: HttpRequest) -> None:
        """Pass on a request that was refused because of its Host or Origin."""
        self._gate.foreign(request)

    def identify(self, exchange: Exchange) -> Caller:
        """Return the caller of an exchange, as the gate knows it."""
        return self._gate.identify(exchange)

    async def close(self) -> None:
        """Drop the queued requests and stop admitting."""
        self._queue.clear()
        if self._draining is not None:
            self._draining.cancel()
            await asyncio.wait({self._draining})

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        since_s = loop.time()
        while self._queue:
            if self._writer.is_behind:
                if loop.time() - since_s > self._writer.block_s:
                    self._writer.wait_no_more()
                await asyncio.sleep(_POLL_S)
                continue
            since_s = loop.time()
            queued = self._queue.popleft()
            if queued[1].is_open:
                # Scheduled, not called: an exception of one request must not end this task.
                loop.call_soon(self._gate.admit, *queued)
            await asyncio.sleep(0)
        self._draining = None
