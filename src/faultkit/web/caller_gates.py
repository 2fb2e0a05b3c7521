"""The two `CallerGate`s of `fault serve`, which decide about HTTP requests before they are parsed as calls.

`Authenticator` checks who sent a request. The identity travels with the request: it is handed to the
continuation as the `sender` of its exchanges, so a call cannot be logged under another caller's name.
`BackPressureGate` delays calls, and nothing else on the port, while the audit log cannot keep up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import TypeAlias

from faultkit.audit.access.access import Access, Decision
from faultkit.audit.access.identity import ANONYMOUS, Identity, Refusal
from faultkit.audit.writer import AuditWriter
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.tasks import TaskSet
from faultkit.mcp.failures.failure_service import CallerGate
from faultkit.mcp.failures.failure_tool import Caller
from faultkit.mcp.wire.exchange import Exchange
from faultkit.mcp.wire.http_front import Continuation

_DECIDED = (Identity, Refusal)
_POLL_S = 0.005
"""Interval at which the writer is checked while requests wait for it."""
_QueuedRequest: TypeAlias = tuple[HttpRequest, ResponseWriter, Continuation]


class Authenticator:
    """Admits requests that have the scope `call`. `initialize` needs it too: nothing is parsed before."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pending = TaskSet[None]()

    def admit(self, request: HttpRequest, answer: ResponseWriter, go_on: Continuation) -> None:
        """Refuse the request, or continue with its identity: at once, or after a look-up."""
        decision = self._access.check(request, "call")
        if isinstance(decision, _DECIDED):
            self._apply(request, answer, go_on, decision)
            return
        self._pending.start(self._admit_later(request, answer, go_on, decision))

    def foreign(self, request: HttpRequest) -> None:
        """Record a request that was refused because of its Host or Origin."""
        self._access.foreign(request)

    def identify(self, exchange: Exchange) -> Caller:
        """Return the caller of an exchange that was admitted here."""
        sender = exchange.sender
        identity, peer = sender if isinstance(sender, tuple) else (ANONYMOUS, "")
        return Caller(
            subject=identity.subject,
            auth_type=identity.auth_type,
            email=identity.email,
            name=identity.name,
            key_name=identity.key_name,
            claims=identity.claims,
            headers=tuple(exchange.headers.items()),
            peer=peer,
        )

    async def _admit_later(
        self, request: HttpRequest, answer: ResponseWriter, go_on: Continuation, decision: Awaitable[Decision]
    ) -> None:
        try:
            decided = await decision
        except Exception:
            answer.respond(500)
            raise
        # The client may have disconnected during the look-up; then the call is not made.
        if answer.is_open:
            self._apply(request, answer, go_on, decided)

    def _apply(
        self, request: HttpRequest, answer: ResponseWriter, go_on: Continuation, decision: Decision
    ) -> None:
        if isinstance(decision, Refusal):
            headers = [("content-type", "application/json"), ("cache-control", "no-store")]
            answer.respond(decision.status, [*headers, *decision.headers], decision.body)
            return
        if request.method == "GET":
            self._access.watch(request, "call", answer)
        go_on(decision.who, (decision, request.peer))


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
