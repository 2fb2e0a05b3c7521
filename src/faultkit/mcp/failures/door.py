"""Who comes in. Here a request is seen before it is a call, with what only the connection knows of it.

Who may come in is decided elsewhere: this is what the server needs to know of it, and a door that is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from faultkit.base.http.server import Answer, Request
from faultkit.mcp.failures.tool import Caller
from faultkit.mcp.wire.exchange import Exchange


class Door(Protocol):
    def admit(self, request: Request, answer: Answer, go_on: Callable[[str], None]) -> None:
        """Answers who may not come in, and lets the others go on, at once or later."""

    def foreign(self, request: Request) -> None:
        """A page of the web called us by a name of its own, and was sent away."""

    def identify(self, exchange: Exchange) -> Caller:
        """Whose call it is. Asked while they go on, with nothing in between."""


class OpenDoor:
    """Everybody is let in, and nobody is known."""

    def __init__(self) -> None:
        self._peer = ""

    def admit(self, request: Request, answer: Answer, go_on: Callable[[str], None]) -> None:
        self._peer = request.peer
        go_on("")

    def foreign(self, request: Request) -> None:
        pass

    def identify(self, exchange: Exchange) -> Caller:
        return Caller(headers=tuple(exchange.headers.items()), peer=self._peer)
