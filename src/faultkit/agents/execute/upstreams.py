"""The two ends of a gateway in this process: the server behind it, and the client in front of it.

`open_upstream` connects a gateway to a server of a suite, which is started as a program, reached by URL, or
mocked. `MemoryStdio` connects a client to a gateway: the bytes of the stdio transport, without a pipe.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from faultkit.agents.execute.readiness import wait_until_ready
from faultkit.agents.suite.definition import CommandServer, MockServer, SuiteServer, UrlServer
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.external_program import check_program
from faultkit.base.framing import LineReader, OversizedLine
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.manifest import load_source
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.upstreams.http_upstream import HttpUpstream
from faultkit.mcp.upstreams.stdio_upstream import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect, UpstreamListener
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.message import Id, Incoming, read
from faultkit.mcp.wire.pipes import StdoutWriter
from faultkit.mcp.wire.stdio_front import StdioReader
from faultkit.plan import Plan

_HOST = "127.0.0.1"


@asynccontextmanager
async def open_upstream(server: SuiteServer) -> AsyncIterator[Connect]:
    """Yield a function that connects a gateway to a server. A mock is served on loopback meanwhile."""
    serving = server.serving
    if isinstance(serving, CommandServer):
        check_command_in(serving.argv[0], serving.cwd)
        yield lambda listener: StdioUpstream(serving.argv, listener, serving.env, serving.cwd)
    elif isinstance(serving, UrlServer):
        headers = serving.all_headers(os.environ)
        await wait_until_ready(serving)
        yield lambda listener: HttpUpstream(serving.url, listener, headers=headers.items())
    else:
        async with _serve_mock(serving) as url:
            yield lambda listener: HttpUpstream(url, listener)


@asynccontextmanager
async def _serve_mock(serving: MockServer) -> AsyncIterator[str]:
    manifest = serving.source or load_source(serving.tools_from)
    mock = MockService(manifest, Injector(Plan(), manifest.name))
    try:
        async with listen(HttpFront(mock, hosts=LOOPBACK_NAMES)) as url:
            yield url
    finally:
        await mock.stop()


@asynccontextmanager
async def listen(front: HttpFront) -> AsyncIterator[str]:
    """Serve on a free port of loopback and yield the URL."""
    _, port = await front.start(_HOST, 0)
    try:
        yield f"http://{_HOST}:{port}/mcp"
    finally:
        await front.stop()


def check_command_in(program: str, cwd: str | None) -> None:
    """Check that a program exists. A relative path starts at `cwd`. Raises InputError."""
    check_program(os.path.join(cwd, program) if cwd and os.path.dirname(program) else program)


class MemoryStdio:
    """A gateway as the upstream of its client, over stdio in memory."""

    def __init__(self, gateway: Callable[[], GatewayService], id: str, listener: UpstreamListener) -> None:
        """Create an upstream. `gateway` is called by `start`, because the gateway may not exist yet."""
        self._gateway = gateway
        self._id = id
        self._listener = listener
        self._lines = LineReader()
        self._session: Session | None = None
        self._reader: StdioReader | None = None
        self._out: StdoutWriter | None = None

    async def start(self) -> None:
        """Open the session at the gateway."""
        loop = asyncio.get_running_loop()

        def deliver_soon(data: bytes) -> None:
            # In the next turn of the loop, as a pipe would: the sender finishes its own work first.
            if data:
                loop.call_soon(self._deliver, data)

        out = StdoutWriter(deliver_soon)
        out.on_lost = lambda: loop.call_soon(self._listener.on_exit, "the connection was closed", None)
        gateway = self._gateway()
        self._out = out
        self._session = Session(self._id, "stdio", "legacy", out.line)
        self._reader = StdioReader(gateway, self._session, out, gateway.forward_non_message)
        gateway.opened(self._session)

    def send(self, incoming: Incoming) -> None:
        """Hand a message of the client to the gateway; dropped once the connection is closed."""
        if self._reader is not None and self._out is not None and not self._out.closed:
            self._reader.feed(incoming.raw + b"\n")

    def abandon(self, id: Id) -> None:
        """Do nothing: the client sends the cancellation itself."""

    def pause(self, paused: bool) -> None:
        """Do nothing: no pipe can fill up."""

    @property
    def unread_bytes(self) -> int:
        """Always 0: nothing is buffered."""
        return 0

    def close_input(self) -> None:
        """Do nothing: there is no pipe."""

    async def stop(self, *, urgent: bool = False) -> None:
        """Close the session from the client's side."""
        if self._session is not None and self._out is not None:
            self._out.on_lost = lambda: None
            self._out.closed = True
            self._gateway().closed(self._session)
            self._session = None

    def hang_up(self) -> None:
        """Close the connection from the gateway's side, because the server exited."""
        if self._out is not None:
            self._out.close()

    def _deliver(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if isinstance(line, OversizedLine):
                self._listener.on_oversized_line(line)
            else:
                self._listener.on_message(read(line))
