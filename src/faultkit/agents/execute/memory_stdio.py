"""The stdio transport between a client and a gateway in one process: its bytes, without a pipe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.upstreams.upstream import UpstreamListener
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.framing import LineReader, OversizedLine
from faultkit.mcp.wire.message import Id, Incoming, read
from faultkit.mcp.wire.pipes import StdoutWriter
from faultkit.mcp.wire.stdio_front import StdioReader


class MemoryStdio:
    """The gateway as an upstream of its client."""

    def __init__(self, gateway: Callable[[], GatewayService], id: str, listener: UpstreamListener) -> None:
        """Keep `gateway`, which is called at `start`, because the gateway may not exist yet."""
        self._gateway = gateway
        self._id = id
        self._listener = listener
        self._lines = LineReader()
        self._session: Session | None = None
        self._reader: StdioReader | None = None
        self._out: StdoutWriter | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        # Deliver in the next turn of the loop, as a pipe would: the sender finishes its own work first.
        out = StdoutWriter(lambda data: self._deliver_soon(loop, data))
        out.on_lost = self._lost
        gateway = self._gateway()
        self._out = out
        self._session = Session(self._id, "stdio", "legacy", out.line)
        self._reader = StdioReader(gateway, self._session, out, gateway.forward_non_message)
        gateway.opened(self._session)

    def send(self, incoming: Incoming) -> None:
        if self._reader is not None and self._out is not None and not self._out.closed:
            self._reader.feed(incoming.raw + b"\n")

    def abandon(self, id: Id) -> None:
        """Do nothing: the client sends the cancellation itself."""

    def pause(self, paused: bool) -> None:
        """Do nothing: no pipe can fill up."""

    @property
    def unread_bytes(self) -> int:
        return 0

    def close_input(self) -> None:
        """Do nothing: there is no pipe."""

    async def stop(self, *, urgent: bool = False) -> None:
        if self._session is not None and self._out is not None:
            self._out.on_lost = lambda: None
            self._out.closed = True
            self._gateway().closed(self._session)
            self._session = None

    def hang_up(self) -> None:
        """Close the connection after the server exited."""
        if self._out is not None:
            self._out.close()

    def _deliver_soon(self, loop: asyncio.AbstractEventLoop, data: bytes) -> None:
        if data:
            loop.call_soon(self._deliver, data)

    def _deliver(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if isinstance(line, OversizedLine):
                self._listener.on_oversized_line(line)
            else:
                self._listener.on_message(read(line))

    def _lost(self) -> None:
        asyncio.get_running_loop().call_soon(self._listener.on_exit, "the connection was closed", None)
