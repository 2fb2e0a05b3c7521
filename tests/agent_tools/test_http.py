"""Streamable HTTP: both eras of the protocol, tokens, and origins."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from faultkit.agent_tools.http_server import HttpServer, check_token
from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.base.errors import InputError, TargetError
from tests.agent_tools.sample_tools import PATIENCE_S, SAMPLES, began, ended

PROJECT = Path(__file__).parents[2]
TOKEN = "open-sesame-1234"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

era = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@contextmanager
def serving(host: str = "127.0.0.1", token: str | None = None) -> Iterator[HttpServer]:
    server = HttpServer(ToolRunner(Services(), progress_every_s=0), host, 0, token, SAMPLES)
    up = threading.Event()
    thread = threading.Thread(target=server.run, args=(lambda url: up.set(),))
    thread.start()
    try:
        assert up.wait(PATIENCE_S)
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def on_loopback() -> Iterator[HttpServer]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def with_token() -> Iterator[HttpServer]:
    with serving(token=TOKEN) as server:
        yield server


def post(server: HttpServer, message: Any = PING, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.endpoint.port, timeout=PATIENCE_S)
    try:
        sent = {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request("POST", "/mcp", json.dumps(message), sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}
    finally:
        connection.close()


def play(server: HttpServer, mode: str, scene: Any, token: str | None = None) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    @asynccontextmanager
    async def transport() -> Any:
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as plain:
            async with streamable_http_client(server.url, http_client=plain) as streams:
                yield streams

    async def bounded() -> Any:
        with anyio.fail_after(PATIENCE_S):
            async with Client(transport(), mode=mode) as client:
                return await scene(client)

    return anyio.run(bounded)


@era
def test_both_eras_are_served_with_progress(mode: str) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def scene(client: Client) -> Any:
        assert {each.name for each in (await client.list_tools()).tools} == set(SAMPLES)
        await client.call_tool("count", {"times": 50}, progress_callback=hear)
        return await client.call_tool("echo", {"word": "hi"})

    with serving() as server:
        found = play(server, mode, scene)
    assert found.structured_content["values"]["word"] == "hi"
    assert heard == sorted(set(heard))
    assert heard[-1] == 50


@era
def test_a_cancelled_call_is_wound_up(mode: str) -> None:
    key = uuid4().hex

    async def scene(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {"key": key})
            await anyio.to_thread.run_sync(began[key].wait, PATIENCE_S)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(ended[key].wait, PATIENCE_S)

    with serving() as server:
        play(server, mode, scene)


@era
def test_when_it_stops_calls_are_wound_up_and_the_port_is_free(mode: str) -> None:
    key = uuid4().hex

    async def scene(client: Client) -> Any:
        found = []

        async def call() -> None:
            found.append(await client.call_tool("wait", {"key": key}))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.to_thread.run_sync(began[key].wait, PATIENCE_S)
            server.stop()
        return found

    with serving() as server:
        [found] = play(server, mode, scene)
    assert (found.is_error, found.content[0].text) == (True, "cancelled as asked")
    assert ended[key].is_set()
    with socket.socket() as probe:
        assert probe.connect_ex((server.endpoint.host, server.endpoint.port)) != 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "localhost:1", "Origin": "http://localhost:3000"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 400),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_page_in_a_browser_is_kept_out_of_a_server_on_loopback(
    on_loopback: HttpServer, headers: dict[str, str], status: int, version: str
) -> None:
    modern = {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    }
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    is_modern = version == "2026-07-28"
    method = "tools/list" if is_modern else "initialize"
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": modern if is_modern else hello}
    extra = {"MCP_Protocol_Version": version, "Mcp_Method": method} if is_modern else {}
    assert post(on_loopback, message, **{**extra, **headers})[0] == status


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", "Basic open-sesame-1234", f"Bearer {TOKEN}x", "Bearer é"]
)
def test_a_request_without_the_token_is_refused(with_token: HttpServer, authorization: str) -> None:
    given = {"Authorization": authorization} if authorization else {}
    status, body, headers = post(with_token, **given)
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="faultkit"')
    assert json.loads(body) == {"error": "expected a bearer token that is known"}


@era
def test_with_the_token_everything_goes(with_token: HttpServer, mode: str) -> None:
    async def scene(client: Client) -> Any:
        return await client.call_tool("echo", {"word": "hi"})

    assert not play(with_token, mode, scene, TOKEN).is_error


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "a-name-of-this-machine:80"}, 400),
        ({"Host": "here.example", "Origin": "http://here.example"}, 400),
        ({"Host": "here.example", "Origin": "http://there.example"}, 403),
        ({"Host": "here.example", "Origin": "http://["}, 403),
        ({"Host": "here.example", "Origin": "null"}, 403),
    ],
    ids=str,
)
def test_on_every_interface_any_host_may_be_meant_but_no_other_origin(
    headers: dict[str, str], status: int
) -> None:
    with serving("0.0.0.0", TOKEN) as server:
        # 400: it was admitted, but has no session.
        assert post(server, Authorization=f"bearer {TOKEN}", **headers)[0] == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com"])
def test_beyond_this_machine_a_token_is_needed(host: str) -> None:
    with pytest.raises(InputError, match=f"^--token: expected a token, since {host} can be reached"):
        check_token(host, None)
    check_token(host, TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "caf\u00e9", "line\nend"])
def test_a_token_is_of_visible_characters(token: str) -> None:
    with pytest.raises(InputError, match=r"^--token: expected visible ASCII characters"):
        check_token("127.0.0.1", token)


def test_a_port_in_use_is_an_error_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TargetError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            HttpServer(ToolRunner(Services()), "localhost", port)


def test_the_command_prints_its_url_and_ends_by_a_signal() -> None:
    command = [sys.executable, "-m", "faultkit", "agent", "tool", "--transport", "http", "--port", "0"]
    env = {**os.environ, "FAULT_AGENT_TOKEN": TOKEN}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT, env=env
    )
    try:
        assert process.stderr is not None
        told = process.stderr.readline()
        assert told.startswith("MCP over HTTP on http://127.0.0.1:")
        host, _, port = told.split("//")[1].partition("/")[0].partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
        connection.request("GET", "/mcp")
        assert connection.getresponse().status == 401
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE_S) == ("", "")
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
