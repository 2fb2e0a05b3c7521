"""Who comes in. Here a request is seen before it is a call, with what only the connection knows of it."""

from __future__ import annotations

from faultkit.mcp.failures.tool import Caller
from faultkit.mcp.wire.exchange import Exchange
from faultkit.mcp.wire.http.server import Headers, Request


class Door:
    def __init__(self) -> None:
        self._peer = ""

    def admit(self, request: Request) -> Headers | None:
        """Lets everybody in. The front asks it right before it hands a call on, with nothing in between."""
        self._peer = request.peer
        return None

    def identify(self, exchange: Exchange) -> Caller:
        return Caller(headers=tuple(exchange.headers.items()), peer=self._peer)
