"""A client's line to a gateway of the same process: the bytes of the stdio transport, without a pipe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from faultkit.mcp.gateway.service import Gateway
from faultkit.mcp.upstreams.upstream import Listener
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.lines import LineReader, TooLong
from faultkit.mcp.wire.message import Id, Incoming, read
from faultkit.mcp.wire.output import Output
from faultkit.mcp.wire.stdio import StdioReader


class StdioLine:
    """What a gateway over stdio is to its client: an upstream."""

    def __init__(self, gateway: Callable[[], Gateway], id: str, listener: Listener) -> None:
        """`gateway`: it may not be there yet when this is made."""
        self._gateway = gateway
        self._id = id
        self._listener = listener
        self._lines = LineReader()
        self._session: Session | None = None
        self._reader: StdioReader | None = None
        self._out: Output | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        # Not at once: whoever speaks into a pipe is heard when it has finished.
        out = Output(lambda data: self._hear_soon(loop, data))
        out.on_lost = self._lost
        gateway = self._gateway()
        self._out = out
        self._session = Session(self._id, "stdio", "legacy", out.line)
        self._reader = StdioReader(gateway, self._session, out, gateway.foreign)
        gateway.opened(self._session)

    def send(self, incoming: Incoming) -> None:
        if self._reader is not None and self._out is not None and not self._out.closed:
            self._reader.feed(incoming.raw + b"\n")

    def abandon(self, id: Id) -> None:
        """It is told by the client's own notification."""

    def pause(self, paused: bool) -> None:
        """Nothing waits to be read: there is no pipe."""

    @property
    def unread_bytes(self) -> int:
        return 0

    def close_input(self) -> None:
        """There is nothing to close."""

    async def stop(self, *, urgent: bool = False) -> None:
        if self._session is not None and self._out is not None:
            self._out.on_lost = lambda: None
            self._out.closed = True
            self._gateway().closed(self._session)
            self._session = None

    def hang_up(self) -> None:
        """The server has left."""
        if self._out is not None:
            self._out.close()

    def _hear_soon(self, loop: asyncio.AbstractEventLoop, data: bytes) -> None:
        if data:
            loop.call_soon(self._hear, data)

    def _hear(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if isinstance(line, TooLong):
                self._listener.hear_too_long(line)
            else:
                self._listener.hear(read(line))

    def _lost(self) -> None:
        asyncio.get_running_loop().call_soon(self._listener.gone, "the connection was closed", None)
