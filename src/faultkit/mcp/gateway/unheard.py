"""Calls under way of which the server does not know, or not that they can be cancelled."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from faultkit.faults.call.call import Verdict
from faultkit.mcp.carry import Ask, Sent, carry
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Id, Incoming, cancelled_id


class Unheard:
    def __init__(self) -> None:
        self._calls: set[tuple[str, Id]] = set()

    def calls_off(self, session: Session, incoming: Incoming) -> bool:
        """Whether this is the cancellation of such a call, which would mean nothing to the server."""
        called_off = cancelled_id(incoming)
        return called_off is not None and (session.id, called_off) in self._calls

    def carried(
        self, verdict: Verdict, exchange: Exchange, ask: Ask, sent: Sent
    ) -> Coroutine[Any, Any, None]:
        """What becomes of a call by its verdict. It is one of these at once, not only when that begins."""
        id = exchange.request.id
        assert id is not None
        key = (exchange.session.id, id)
        self._calls.add(key)
        return self._carry(verdict, exchange, ask, sent, key)

    async def _carry(
        self, verdict: Verdict, exchange: Exchange, ask: Ask, sent: Sent, key: tuple[str, Id]
    ) -> None:
        async def ask_aloud() -> Incoming | None:
            if not verdict.deaf:
                self._calls.discard(key)
            return await ask()

        try:
            await carry(verdict, exchange, ask_aloud, sent)
        finally:
            self._calls.discard(key)
