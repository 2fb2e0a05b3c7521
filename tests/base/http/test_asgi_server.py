"""Uvicorn on our own listener: it serves, closes silent connections and half requests, and ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.requests import Request

from faultkit.base.http import asgi_server
from faultkit.base.http.asgi_server import ServerWithoutSignals, uvicorn_config

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@asynccontextmanager
async def serving(app: Any, http: Any) -> AsyncIterator[tuple[str, int]]:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    config = uvicorn_config(app, grace_s=1, http=http, lifespan="off", timeout_keep_alive=600)
    server = ServerWithoutSignals(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    yield sock.getsockname()
    server.should_exit = True
    await task


@pytest.mark.parametrize("http", ["h11", "httptools"])
@pytest.mark.parametrize(
    "part", [REQUEST[:9], REQUEST[:-2], b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf"]
)
@pytest.mark.parametrize("before", [b"", REQUEST])
def test_half_a_request_is_closed_and_a_slow_answer_is_not(
    http: Any, part: bytes, before: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_server, "REQUEST_S", 0.3)
    ended = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.request":
            if scope["path"] == "/slow":
                await ended.wait()
            await app(scope, receive, send)

    async def main() -> None:
        async with serving(slow, http) as address:
            busy, busy_out = await asyncio.open_connection(*address)
            busy_out.write(REQUEST.replace(b"/ ", b"/slow ", 1))
            half, half_out = await asyncio.open_connection(*address)
            half_out.write(before)
            if before:
                assert (await half.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            half_out.write(part)
            assert await half.read() == b""
            ended.set()
            assert (await busy.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            busy_out.close()
            half_out.close()

    asyncio.run(main())


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_a_connection_without_a_request_is_closed_and_others_stay(
    http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_server, "FIRST_REQUEST_S", 0.5)

    async def main() -> None:
        async with serving(app, http) as address:
            silent, silent_out = await asyncio.open_connection(*address)
            busy, busy_out = await asyncio.open_connection(*address)
            busy_out.write(REQUEST)
            assert (await busy.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            assert await silent.read() == b""
            busy_out.write(REQUEST)
            assert (await busy.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            silent_out.close()
            busy_out.close()

    asyncio.run(main())


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_what_clients_do_is_not_logged_and_a_failure_of_the_app_is_one_line(
    http: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def reading(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/fails":
            raise ValueError("no")
        if scope["path"] == "/reads":
            async for _ in Request(scope, receive).stream():
                pass
        await app(scope, receive, send)

    head = b"POST %b HTTP/1.1\r\nhost: a\r\nconnection: %b\r\nupgrade: websocket\r\n%b\r\n\r\n"
    parts = [
        head % (b"/", b"upgrade", b"content-length: 0"),
        head % (b"/reads", b"close", b"content-length: 50") + b"{}",
        head % (b"/", b"close", b"transfer-encoding: chunked") + b"zz\r\n{}",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
    ]

    async def main() -> None:
        async with serving(reading, http) as address:
            for part in [*parts, head % (b"/fails", b"close", b"content-length: 0")]:
                reader, writer = await asyncio.open_connection(*address)
                writer.write(part)
                writer.write_eof()
                last = await reader.read()
                writer.close()
            assert last.startswith(b"HTTP/1.1 500 ")

    asyncio.run(main())
    assert [(each.name, each.getMessage()) for each in caplog.records] == [
        ("faultkit.http", "/fails failed: ValueError: no")
    ]
    assert capfd.readouterr() == ("", "")
