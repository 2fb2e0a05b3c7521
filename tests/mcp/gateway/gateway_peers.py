"""Gateways in the test's own event loop, and peers that send them raw bytes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from faultkit.base.http.http_client import HttpClient
from faultkit.base.http.http_server import HttpServer, RequestLimits
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.gateway.http_relay import HttpRelay
from faultkit.mcp.injector import Injector
from faultkit.mcp.upstreams.http_upstream import HttpUpstream
from faultkit.mcp.upstreams.stdio_upstream import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.message import encode
from faultkit.mcp.wire.stdio_front import serve_stdio
from faultkit.plan import Plan

LINE_SERVER = [sys.executable, "-I", "-S", str(Path(__file__).parent / "line_server.py")]
PATIENCE_S = 20.0


def run(work: Callable[[], Coroutine[Any, Any, None]], seconds: float = 30.0) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await work()

    asyncio.run(bounded())


def request(id: int | str, method: str, **params: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def to_lines(*command: str) -> Connect:
    return lambda listener: StdioUpstream([*LINE_SERVER, *command], listener)


def to_url(url: str) -> Connect:
    return lambda listener: HttpUpstream(url, listener)


class Pipes:
    """A client on pipes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.WriteTransport) -> None:
        self._reader = reader
        self.writer = writer

    def say(self, *lines: bytes) -> None:
        self.writer.write(b"".join(line + b"\n" for line in lines))

    async def line(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return (await self._reader.readline()).removesuffix(b"\n")

    async def message(self) -> Any:
        return json.loads(await self.line())

    async def ask(self, id: int | str, method: str, **params: Any) -> Any:
        self.say(request(id, method, **params))
        return (await self.message())["result"]

    def hang_up(self) -> None:
        self.writer.close()


@asynccontextmanager
async def on_pipes(connect: Connect, plan: Plan | None = None, **settings: Any) -> AsyncIterator[Pipes]:
    gateway = GatewayService(connect, Injector(plan or Plan(), settings.get("server", "")), **settings)
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    loop = asyncio.get_running_loop()
    serving = loop.create_task(
        serve_stdio(
            gateway, in_read, out_write, on_non_message=gateway.forward_non_message, at_end=gateway.drain
        )
    )
    reader = asyncio.StreamReader(limit=1 << 27)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out_read, "rb", 0)
    )
    writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(in_write, "wb", 0))
    pipes = Pipes(reader, writer)
    try:
        yield pipes
        pipes.hang_up()
        async with asyncio.timeout(PATIENCE_S):
            await serving
    finally:
        pipes.hang_up()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await gateway.stop(urgent=True)
        transport.close()
        os.close(in_read)
        os.close(out_write)


@asynccontextmanager
async def on_http(connect: Connect, plan: Plan | None = None, **settings: Any) -> AsyncIterator[HttpClient]:
    """Serve a gateway over HTTP in front of a message-based upstream; yield its client."""
    front: HttpFront

    def lost(session: Any, why: str, code: int | None) -> None:
        front.forget(session)

    gateway = GatewayService(connect, Injector(plan or Plan()), on_lost=lost, **settings)
    front = HttpFront(gateway)
    host, port = await front.start("127.0.0.1", 0)
    client = HttpClient(f"http://{host}:{port}/mcp")
    try:
        yield client
    finally:
        client.close()
        await front.stop()
        await gateway.stop(urgent=True)


@asynccontextmanager
async def relayed(
    url: str, plan: Plan | None = None, limits: RequestLimits | None = None, **settings: Any
) -> AsyncIterator[HttpClient]:
    relay = HttpRelay(url, Injector(plan or Plan()), **settings)
    server = HttpServer(relay.handle, limits)
    host, port = await server.start("127.0.0.1", 0)
    client = HttpClient(f"http://{host}:{port}{relay.path}")
    try:
        yield client
    finally:
        client.close()
        await relay.stop()
        await server.stop()


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """Yield the URL of an upstream that handles each connection with the script."""
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(script(reader, writer))
        tasks.add(task)

        def over(done: asyncio.Task[None]) -> None:
            tasks.discard(done)
            writer.close()

        task.add_done_callback(over)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def http_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read one request; return its head and its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    size = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    return head, await reader.readexactly(size)


def http_answer(body: bytes, status: bytes = b"200 OK", *lines: bytes) -> bytes:
    head = [b"HTTP/1.1 " + status, b"content-type: application/json", *lines]
    return b"\r\n".join([*head, b"content-length: %d" % len(body), b"", body])
