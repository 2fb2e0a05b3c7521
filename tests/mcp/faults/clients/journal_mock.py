"""A mock that records the methods of requests and notifications, and cancellations.

As a program, `python -m tests.mcp.faults.clients.journal_mock SPEC`, it serves stdio and writes to stderr.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming
from faultkit.mcp.wire.stdio_front import serve_stdio
from tests.mcp.faults.call_places import MANIFEST, SERVER, plan_of

CANCELLED = "notifications/cancelled"
LEFT = "left"
"""Recorded when a modern HTTP client closes the response, which cancels the call."""


class JournalMock:
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
        await serve_stdio(JournalMock(mock, lambda word: print(word, file=sys.stderr, flush=True)))  # noqa: T201
    finally:
        await mock.stop()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
