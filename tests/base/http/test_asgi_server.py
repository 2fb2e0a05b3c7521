"""Uvicorn on our own listener: it serves, closes silent connections, and ends."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from faultkit.base.http import asgi_server
from faultkit.base.http.asgi_server import ServerWithoutSignals, uvicorn_config

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_a_connection_without_a_request_is_closed_and_others_stay(
    http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_server, "FIRST_REQUEST_S", 0.5)

    async def main() -> None:
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        address = sock.getsockname()
        config = uvicorn_config(app, grace_s=1, http=http, lifespan="off", timeout_keep_alive=600)
        server = ServerWithoutSignals(config)
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        silent, silent_out = await asyncio.open_connection(*address)
        busy, busy_out = await asyncio.open_connection(*address)
        busy_out.write(REQUEST)
        assert (await busy.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        assert await silent.read() == b""
        busy_out.write(REQUEST)
        assert (await busy.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        silent_out.close()
        busy_out.close()
        server.should_exit = True
        await serving

    asyncio.run(main())
