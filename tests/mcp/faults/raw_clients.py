"""Clients that only frame bytes and return exactly the bytes that arrived."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Any, Literal, Protocol, TypeAlias

from faultkit.mcp.wire.era import headers_of
from faultkit.mcp.wire.exchange import Service
from faultkit.mcp.wire.message import encode, read
from faultkit.mcp.wire.stdio_front import serve_stdio
from tests.mcp.faults.call_places import Place, request

PATIENCE_S = 20.0
QUIET_S = 0.06
"""Seconds to wait where nothing is expected."""

End: TypeAlias = Literal["open", "pending", "late", "fin", "rst"]


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await test()

    asyncio.run(bounded())


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition by polling, where no socket reports it."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class Line(Protocol):
    """One connection."""

    def say(self, message: dict[str, Any]) -> None: ...

    async def take(self, count: int) -> bytes:
        """Read this many bytes, or fewer if they do not arrive."""

    async def end(self) -> tuple[bytes, str]:
        """Read to the end of the connection; return the bytes and how it ended."""


async def quiet(line: Line) -> bytes:
    """Return the bytes that arrive where none are expected."""
    with suppress(TimeoutError):
        async with asyncio.timeout(QUIET_S):
            return await line.take(1)
    return b""


async def read_up_to(reader: asyncio.StreamReader, count: int) -> bytes:
    got = b""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while len(got) < count and (more := await reader.read(count - len(got))):
                got += more
    except (TimeoutError, ConnectionResetError):
        pass
    return got


async def read_to_end(reader: asyncio.StreamReader) -> tuple[bytes, str]:
    got = b""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while more := await reader.read(1 << 16):
                got += more
    except ConnectionResetError:
        return got, "rst"
    except TimeoutError:
        return got, "open"
    return got, "fin"


class Pipes:
    """The client's ends of a server's stdin and stdout."""

    def __init__(self, reader: asyncio.StreamReader, write_fd: int) -> None:
        self.reader = reader
        self._write_fd = write_fd

    def say(self, *messages: dict[str, Any]) -> None:
        """Send several messages in one write, so that they are read at once."""
        os.write(self._write_fd, b"".join(encode(message) + b"\n" for message in messages))

    async def take(self, count: int) -> bytes:
        return await read_up_to(self.reader, count)

    async def line(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.readline()

    async def end(self) -> tuple[bytes, str]:
        return await read_to_end(self.reader)

    def hang_up(self) -> None:
        if self._write_fd >= 0:
            os.close(self._write_fd)
        self._write_fd = -1


@asynccontextmanager
async def piped(service: Service, place: Place) -> AsyncIterator[Pipes]:
    """Serve on pipes; yield the client after the handshake."""
    loop = asyncio.get_running_loop()
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    serving = loop.create_task(serve_stdio(service, in_read, out_write))
    reader = asyncio.StreamReader(limit=1 << 27)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out_read, "rb", 0)
    )
    pipes = Pipes(reader, in_write)
    try:
        if place.era == "legacy":
            pipes.say(initialize(place))
            assert b'"protocolVersion"' in await pipes.line()
            pipes.say(request(place, "notifications/initialized", {}, None))
        yield pipes
        pipes.hang_up()
        async with asyncio.timeout(PATIENCE_S):
            await serving
    finally:
        pipes.hang_up()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        transport.close()
        os.close(in_read)
        os.close(out_write)


def initialize(place: Place) -> dict[str, Any]:
    info = {"name": "raw", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    return request(place, "initialize", params, 0)


class Connection:
    """One HTTP/1.1 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: Caller) -> None:
        self.reader = reader
        self._writer = writer
        self._caller = caller

    def say(self, message: dict[str, Any]) -> None:
        body = encode(message)
        headers = [
            ("host", self._caller.host),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            *self._caller.headers_of(message),
        ]
        self.send("POST", headers, body)

    def send(self, method: str, headers: list[tuple[str, str]], body: bytes = b"") -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"{method} /mcp HTTP/1.1\r\n{lines}content-length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)

    async def take(self, count: int) -> bytes:
        return await read_up_to(self.reader, count)

    @property
    def name(self) -> str:
        """The address by which the server identifies the connection."""
        host, port = self._writer.get_extra_info("sockname")
        return f"{host}:{port}"

    def shrink(self) -> None:
        """Make the receive buffer small, so that the server notices a client that does not read."""
        self._writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_RCVBUF, 1 << 14)

    async def head(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def end(self) -> tuple[bytes, str]:
        return await read_to_end(self.reader)

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Caller:
    """A client of one endpoint with any number of connections."""

    def __init__(self, address: tuple[str, int], place: Place) -> None:
        self.host = "{}:{}".format(*address)
        self._address = address
        self._place = place
        self.session: list[tuple[str, str]] = []
        self._connections: list[Connection] = []

    def headers_of(self, message: dict[str, Any]) -> list[tuple[str, str]]:
        if self._place.era == "modern" and "id" in message:
            return headers_of(read(encode(message)))
        return self.session

    async def connect(self) -> Connection:
        reader, writer = await asyncio.open_connection(*self._address, limit=1 << 27)
        connection = Connection(reader, writer, self)
        self._connections.append(connection)
        return connection

    async def begin(self) -> None:
        """Perform the handshake, if the era has one."""
        if self._place.era == "modern":
            return
        connection = await self.connect()
        connection.say(initialize(self._place))
        lines = (await connection.head()).decode().lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:] if line)
        self.session = [("mcp-session-id", fields["mcp-session-id"])]
        await connection.take(int(fields["content-length"]))
        connection.say(request(self._place, "notifications/initialized", {}, None))
        assert (await connection.head()).startswith(b"HTTP/1.1 202 ")

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()


@asynccontextmanager
async def calling(address: tuple[str, int], place: Place) -> AsyncIterator[Caller]:
    caller = Caller(address, place)
    try:
        await caller.begin()
        yield caller
    finally:
        await caller.close()
