"""Clients of a soak, each a coroutine on one connection, and the server behind the proxies.

Faults cut most of them short: what a client gets is not judged, only what is left after all have gone.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

LIFE_S = 3.0
"""Longest life of a connection: a fault may leave its client waiting."""
LEFT = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
"""What a client or a server gets to see when the other one has left."""
_SIZES = (0, 10, 3000, 3000, 200_000)


@dataclass(slots=True)
class Talk:
    """A connection, where its requests go, and chance."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    origin: str
    """The beginning of each target: empty, or that of an absolute URL."""
    host: str
    rng: random.Random

    def request(self, method: str = "GET", length: int | None = None, size: int | None = None) -> bytes:
        """Return the head of a request for an answer of `size` bytes."""
        size = self.rng.choice(_SIZES) if size is None else size
        body = "" if length is None else f"Content-Length: {length}\r\n"
        return f"{method} {self.origin}/{size} HTTP/1.1\r\nHost: {self.host}\r\n{body}\r\n".encode()

    async def read_to_end(self) -> None:
        while await self.reader.read(1 << 16):
            pass


async def short(talk: Talk) -> None:
    """Send one request, read a part of its answer, leave."""
    talk.writer.write(talk.request())
    await talk.reader.read(1 << 16)


async def long(talk: Talk) -> None:
    """Send several requests on one connection, with pauses."""
    for _ in range(talk.rng.randint(2, 6)):
        talk.writer.write(talk.request("POST", 5, size=100) + b"hello")
        await talk.reader.readuntil(b"\r\n\r\n")
        await talk.reader.readexactly(100)
        await asyncio.sleep(talk.rng.random() / 10)


async def half_closed(talk: Talk) -> None:
    """Send a request and the end of the stream, and read to the end of the answer."""
    talk.writer.write(talk.request())
    talk.writer.write_eof()
    await talk.read_to_end()


async def aborted(talk: Talk) -> None:
    """Leave in the middle of a request's body, by FIN or RST."""
    talk.writer.write(talk.request("POST", 500) + b"part")
    await talk.writer.drain()
    await asyncio.sleep(talk.rng.choice([0, 0.01, 0.1]))
    if talk.rng.random() < 0.5:
        _reset(talk.writer)


async def slow_reader(talk: Talk) -> None:
    """Read a large answer in small pieces, and leave before its end."""
    talk.writer.write(talk.request(size=2_000_000))
    for _ in range(20):
        if not await talk.reader.read(2000):
            break
        await asyncio.sleep(0.02)


async def pipelined(talk: Talk) -> None:
    """Send several requests at once, and read what comes."""
    talk.writer.write(b"".join(talk.request(size=10) for _ in range(5)))
    await talk.reader.read(1 << 16)


async def silent(talk: Talk) -> None:
    """Send nothing, or half of a head, and wait."""
    talk.writer.write(talk.request()[: talk.rng.choice([0, 10])])
    await asyncio.sleep(talk.rng.random())


async def garbage(talk: Talk) -> None:
    """Send bytes that are no HTTP."""
    talk.writer.write(talk.rng.randbytes(2000))
    await talk.reader.read(1 << 16)


async def connect(talk: Talk) -> None:
    """Open a tunnel, and be another client inside it. By a reverse proxy this is just another request."""
    talk.writer.write(f"CONNECT {talk.host} HTTP/1.1\r\nHost: {talk.host}\r\n\r\n".encode())
    await talk.reader.readuntil(b"\r\n\r\n")
    talk.origin = ""
    await talk.rng.choice([short, half_closed, aborted, slow_reader])(talk)


CLIENTS: tuple[Callable[[Talk], Awaitable[None]], ...] = (
    short,
    long,
    half_closed,
    aborted,
    slow_reader,
    pipelined,
    silent,
    garbage,
    connect,
)


def _reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    with suppress(OSError):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def one_client(port: int, origin: str, host: str, rng: random.Random) -> None:
    """Be one client of any kind, from its connection to its end."""
    client = rng.choice(CLIENTS)
    with suppress(*LEFT, TimeoutError):
        async with asyncio.timeout(LIFE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await client(Talk(reader, writer, origin, host, rng))
            finally:
                writer.transport.abort() if rng.random() < 0.2 else writer.close()


class SoakServer:
    """Answers each request with as many bytes as its path names."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._serving: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> SoakServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        with suppress(*LEFT, ValueError, IndexError):
            while True:
                await _answer(reader, writer)
        writer.close()
        del self._serving[task]


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    target = head.split(" ", 2)[1]
    _, found, rest = head.lower().partition("content-length:")
    if found:
        await reader.readexactly(min(1 << 20, int(rest.partition("\r\n")[0])))
    size = min(2_000_000, int(target.rpartition("/")[2]))
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + bytes(size))
    await writer.drain()
