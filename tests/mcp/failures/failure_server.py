"""The failure tools on a loopback port, in the test's own event loop, and clients that send raw bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from faultkit.faults.call_fault import Era
from faultkit.mcp.failures.failure_service import FailureService, FinishedCall, OpenGate, ServeSettings
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.message import encode

PATIENCE_S = 10.0
MODERN = "2026-07-28"


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(3 * PATIENCE_S):
            await work()

    asyncio.run(bounded())


class Tools:
    """A server of the failure tools, with queues of the calls that began and ended."""

    def __init__(self, settings: ServeSettings | None = None) -> None:
        self.ended: asyncio.Queue[FinishedCall] = asyncio.Queue()
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        door = OpenGate()

        def identify(exchange: Any) -> Any:
            self.begun.put_nowait(exchange.request.params.get("name"))
            return door.identify(exchange)

        self.server = FailureService(settings or ServeSettings(), self.ended.put_nowait, identify)
        self.front = HttpFront(self.server, admit=door.admit, disconnect_cancels=True)
        self.port = 0
        self.wires: list[Wire] = []

    async def has_begun(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.begun.get()

    async def has_ended(self) -> FinishedCall:
        async with asyncio.timeout(PATIENCE_S):
            return await self.ended.get()


@asynccontextmanager
async def serving(settings: ServeSettings | None = None) -> AsyncIterator[Tools]:
    tools = Tools(settings)
    _, tools.port = await tools.front.start("127.0.0.1", 0)
    try:
        yield tools
    finally:
        for wire in tools.wires:
            await wire.close()
        await tools.front.stop()
        await tools.server.stop()


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, body: bytes, era: Era = "legacy", *more: str, method: str = "POST") -> None:
        """`more`: headers."""
        version = MODERN if era == "modern" else "2025-11-25"
        lines = [
            f"{method} /mcp HTTP/1.1",
            "Host: 127.0.0.1",
            "Accept: application/json, text/event-stream",
            "Content-Type: application/json",
            f"MCP-Protocol-Version: {version}",
            *more,
            f"Content-Length: {len(body)}",
        ]
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        await self._writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(PATIENCE_S):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
            return int(head[0].split()[1]), headers, body

    async def some(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self._reader.read(1 << 16)

    def hang_up(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


async def connected(tools: Tools) -> Wire:
    wire = Wire(*await asyncio.open_connection("127.0.0.1", tools.port))
    tools.wires.append(wire)
    return wire


async def session_of(wire: Wire) -> str:
    """The header that names a new legacy session."""
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    await wire.ask(encode({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": info}))
    _, headers, _ = await wire.answer()
    return f"Mcp-Session-Id: {headers['mcp-session-id']}"


def call(name: str, arguments: Any, id: int = 1, era: Era = "legacy", token: str | None = None) -> bytes:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    meta: dict[str, Any] = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}} if era == "modern" else {}
    if token is not None:
        meta["progressToken"] = token
    if meta:
        params["_meta"] = meta
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def modern(name: str) -> tuple[str, str]:
    """The headers of a modern call."""
    return "Mcp-Method: tools/call", f"Mcp-Name: {name}"


def read(body: bytes) -> Any:
    return json.loads(body)
