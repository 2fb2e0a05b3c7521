"""Clients of mocks: on real pipes, and over HTTP, with `run_mock` in this process."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx

from faultkit.mcp.mock.mock_server import MockJob, run_mock
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.mcp.wire.message import encode

PATIENCE_S = 20.0
MODERN = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(4 * PATIENCE_S):
            await test()

    asyncio.run(bounded())


def request(id: int | str, method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: int | str, name: str, /, **arguments: Any) -> dict[str, Any]:
    return request(id, "tools/call", name=name, arguments=arguments)


def cancel(id: int | str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


def text_of(reply: dict[str, Any]) -> str:
    text = reply["result"]["content"][0]["text"]
    assert isinstance(text, str)
    return text


class Pipes:
    """The client's ends of the pipes."""

    def __init__(self, reader: asyncio.StreamReader, write_fd: int) -> None:
        self._reader = reader
        self._write_fd = write_fd

    def say(self, *messages: dict[str, Any] | bytes) -> None:
        lines = [each if isinstance(each, bytes) else encode(each) for each in messages]
        os.write(self._write_fd, b"".join(line + b"\n" for line in lines))

    async def receive(self) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await self._reader.readline())

    async def rest(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self._reader.read()

    def hang_up(self) -> None:
        if self._write_fd >= 0:
            os.close(self._write_fd)
        self._write_fd = -1


@asynccontextmanager
async def on_pipes(job: MockJob) -> AsyncIterator[Pipes]:
    """Close the input, which ends the mock, whatever it is doing."""
    loop = asyncio.get_running_loop()
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    running = loop.create_task(run_mock(job, stdin_fd=in_read, stdout_fd=out_write))
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out_read, "rb", 0)
    )
    pipes = Pipes(reader, in_write)
    try:
        yield pipes
        pipes.hang_up()
        async with asyncio.timeout(PATIENCE_S):
            assert await running == "end of input"
    finally:
        pipes.hang_up()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        transport.close()
        os.close(in_read)
        os.close(out_write)


class Web:
    """A legacy session that is open, and modern requests."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self.client = client
        self.url = url
        self._headers = {"accept": "application/json, text/event-stream"}

    async def open(self) -> None:
        reply = await self.post(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}))
        self._headers["mcp-session-id"] = reply.headers["mcp-session-id"]

    async def post(self, message: dict[str, Any], **headers: str) -> httpx.Response:
        return await self.client.post(self.url, json=message, headers={**self._headers, **headers})

    async def ask(self, message: dict[str, Any]) -> Any:
        return (await self.post(message)).json()

    async def ask_modern(self, message: dict[str, Any], **able: Any) -> Any:
        whole, headers = _modern(message, able)
        return (await self.client.post(self.url, json=whole, headers=headers)).json()

    @asynccontextmanager
    async def modern_stream(self, message: dict[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Return the messages of a modern response that is an event stream."""
        whole, headers = _modern(message, {})
        async with self.client.stream("POST", self.url, json=whole, headers=headers) as reply:
            yield _events(reply)

    @asynccontextmanager
    async def own_stream(self) -> AsyncIterator[AsyncIterator[Any]]:
        """Return the messages of the session that belong to no call."""
        headers = {**self._headers, "accept": "text/event-stream"}
        async with self.client.stream("GET", self.url, headers=headers) as reply:
            yield _events(reply)

    @asynccontextmanager
    async def stream(self, message: dict[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Return the messages of a response that is an event stream."""
        async with self.client.stream("POST", self.url, json=message, headers=self._headers) as reply:
            yield _events(reply)


def _events(reply: httpx.Response) -> AsyncIterator[Any]:
    assert reply.headers["content-type"] == "text/event-stream"
    return (json.loads(line[6:]) async for line in reply.aiter_lines() if line.startswith("data: "))


def _modern(message: dict[str, Any], able: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a message with what a modern request has, and its headers."""
    params = message["params"]
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": message["method"],
    }
    name = params.get("name", params.get("uri"))
    if name is not None:
        headers["mcp-name"] = name
    return {**message, "params": {**params, "_meta": {**MODERN, CAPABILITIES_KEY: able}}}, headers


@asynccontextmanager
async def over_http(job: MockJob) -> AsyncIterator[Web]:
    said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.get_running_loop().create_task(run_mock(job, said.set_result))
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = await said
        assert line.startswith("mock on http://127.0.0.1:")
        async with httpx.AsyncClient(timeout=PATIENCE_S, trust_env=False) as client:
            web = Web(client, line.removeprefix("mock on "))
            await web.open()
            yield web
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
