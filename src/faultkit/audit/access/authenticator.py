"""Authenticates the HTTP requests of MCP clients, before they are parsed as calls.

It is the `CallerGate` of `fault serve`. The identity travels with the request: it is handed to the
continuation as the `sender` of its exchanges, so a call cannot be logged under another caller's name.
"""

from __future__ import annotations

from collections.abc import Awaitable

from faultkit.audit.access.access import Access, Decision
from faultkit.audit.access.identity import ANONYMOUS, Identity, Refusal
from faultkit.base.http.http_server import HttpRequest, ResponseWriter
from faultkit.base.tasks import TaskSet
from faultkit.mcp.failures.failure_tool import Caller
from faultkit.mcp.wire.exchange import Exchange
from faultkit.mcp.wire.http_front import Continuation

_DECIDED = (Identity, Refusal)


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
