"""The mock with somebody beside it who writes down what clients ask and take back.

As a program, `python -m tests.mcp.faults.clients.watched SPEC`, it serves stdio and writes to stderr.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_service import MockService
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming
from faultkit.mcp.wire.stdio_front import serve_stdio
from tests.mcp.faults.place import MANIFEST, SERVER, plan_of

CANCELLED = "notifications/cancelled"
LEFT = "left"
"""In the modern era over HTTP, a client cancels by closing the answer."""


class Watched:
    def __init__(self, mock: MockService, tell: Callable[[str], object]) -> None:
        self._mock = mock
        self._tell = tell

    def opened(self, session: Session) -> None:
        self._mock.opened(session)

    def closed(self, session: Session) -> None:
        self._mock.closed(session)

    def notification(self, session: Session, incoming: Incoming) -> None:
        self._tell(incoming.method)
        self._mock.notification(session, incoming)

    def response(self, session: Session, incoming: Incoming) -> None:
        self._mock.response(session, incoming)

    def request(self, exchange: Exchange) -> None:
        self._tell(exchange.request.method)
        if exchange.session.transport == "http" and exchange.session.era == "modern":
            exchange.on_cancel(self._left)
        self._mock.request(exchange)

    def _left(self) -> None:
        self._tell(LEFT)


async def _main(spec: str) -> None:
    mock = MockService(MANIFEST, Injector(plan_of(spec), SERVER))
    try:
        await serve_stdio(Watched(mock, lambda word: print(word, file=sys.stderr, flush=True)))  # noqa: T201
    finally:
        await mock.stop()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
