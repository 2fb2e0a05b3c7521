"""The door of `fault serve`: asks who comes, before a request is a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from faultkit.audit.access.access import Access, Decision
from faultkit.audit.access.identity import ANONYMOUS, Identity, Refusal
from faultkit.base.http.server import Answer, Request
from faultkit.mcp.failures.tool import Caller
from faultkit.mcp.wire.exchange import Exchange

_SETTLED = (Identity, Refusal)


class AccessDoor:
    """All that is said to the tools needs the scope `call`, `initialize` as well: it is not read before."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._identity = ANONYMOUS
        self._peer = ""
        self._waiting: set[asyncio.Task[None]] = set()

    def admit(self, request: Request, answer: Answer, go_on: Callable[[str], None]) -> None:
        decision = self._access.check(request, "call")
        if isinstance(decision, _SETTLED):
            self._settle(request, answer, go_on, decision)
            return
        task = asyncio.get_running_loop().create_task(self._admit_later(request, answer, go_on, decision))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def foreign(self, request: Request) -> None:
        self._access.foreign(request)

    def identify(self, exchange: Exchange) -> Caller:
        """Right: whoever goes on does so at once, and nobody else in between."""
        identity = self._identity
        return Caller(
            subject=identity.subject,
            auth_type=identity.auth_type,
            email=identity.email,
            name=identity.name,
            key_name=identity.key_name,
            claims=identity.claims,
            headers=tuple(exchange.headers.items()),
            peer=self._peer,
        )

    async def _admit_later(
        self, request: Request, answer: Answer, go_on: Callable[[str], None], decision: Awaitable[Decision]
    ) -> None:
        try:
            decided = await decision
        except Exception:
            answer.whole(500)
            raise
        # They may have left by now: then nobody would read what came of it.
        if answer.is_open:
            self._settle(request, answer, go_on, decided)

    def _settle(
        self, request: Request, answer: Answer, go_on: Callable[[str], None], decision: Decision
    ) -> None:
        if isinstance(decision, Refusal):
            refuse(answer, decision)
            return
        self._identity, self._peer = decision, request.peer
        if request.method == "GET":
            self._access.watch(request, "call", answer)
        go_on(decision.who)


def refuse(answer: Answer, refusal: Refusal) -> None:
    headers = [("content-type", "application/json"), ("cache-control", "no-store"), *refusal.headers]
    answer.whole(refusal.status, headers, refusal.body)
