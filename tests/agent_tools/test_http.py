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
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp.client.client import Client

from faultkit.agent_tools.http_server import HttpServer, check_token, token_for
from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.base.errors import InputError, TargetError
from tests.agent_tools.bearer_client import bearer_transport
from tests.agent_tools.sample_tools import PATIENCE_S, SAMPLES, began, ended

PROJECT = Path(__file__).parents[2]
TOKEN = "open-sesame-1234"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

era = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[HttpServer]:
    server = HttpServer(ToolRunner(Services(), progress_every_s=0), TOKEN, host, 0, SAMPLES)
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


def post(server: HttpServer, message: Any = PING, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.endpoint.port, timeout=PATIENCE_S)
    try:
        sent = {**JSON, **BEARER, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request("POST", "/mcp", json.dumps(message), sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}
    finally:
        connection.close()


def play(server: HttpServer, mode: str, scene: Any) -> Any:
    async def bounded() -> Any:
        with anyio.fail_after(PATIENCE_S):
            async with Client(bearer_transport(server.url, TOKEN), mode=mode) as client:
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
def test_a_request_without_the_token_is_refused_on_loopback_too(
    on_loopback: HttpServer, authorization: str
) -> None:
    status, body, headers = post(on_loopback, Authorization=authorization)
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="faultkit"')
    assert json.loads(body) == {"error": "expected a bearer token that is known"}


@era
def test_with_the_token_everything_goes(on_loopback: HttpServer, mode: str) -> None:
    async def scene(client: Client) -> Any:
        return await client.call_tool("echo", {"word": "hi"})

    assert not play(on_loopback, mode, scene).is_error


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
    with serving("0.0.0.0") as server:
        # 400: it was admitted, but has no session.
        assert post(server, Authorization=f"bearer {TOKEN}", **headers)[0] == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com"])
def test_beyond_this_machine_a_token_is_needed(host: str) -> None:
    with pytest.raises(InputError, match=f"^--token: expected a token, since {host} can be reached"):
        token_for(host, None)
    assert token_for(host, TOKEN) == TOKEN


def test_on_loopback_a_random_token_is_made() -> None:
    made = {token_for("localhost", None) for _ in range(5)}
    assert (len(made), {len(token) for token in made}) == (5, {32})
    for token in made:
        check_token(token)


@pytest.mark.parametrize("token", ["", "two words", "caf\u00e9", "line\nend"])
def test_a_token_is_of_visible_characters(token: str) -> None:
    with pytest.raises(InputError, match=r"^--token: expected visible ASCII characters"):
        check_token(token)


def test_a_port_in_use_is_an_error_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TargetError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            HttpServer(ToolRunner(Services()), TOKEN, "localhost", port)


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


@contextmanager
def agent_over_http(folder: Path, *flags: str) -> Iterator[tuple[str, str]]:
    """Start `fault agent tool` without a token of its own; yield its URL and the token that it shows."""
    command = [
        sys.executable,
        "-m",
        "faultkit",
        "agent",
        "tool",
        "--transport",
        "http",
        "--port",
        "0",
        *flags,
    ]
    env = {name: value for name, value in os.environ.items() if name != "FAULT_AGENT_TOKEN"}
    env["PYTHONPATH"] = str(PROJECT / "src")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=env)
    try:
        assert process.stderr is not None
        url = process.stderr.readline().removeprefix("MCP over HTTP on ").strip()
        yield url, process.stderr.readline().removeprefix("token: ").strip()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def call_over_http(url: str, token: str | None, name: str, arguments: dict[str, Any]) -> tuple[int, str]:
    headers = JSON if token is None else {**JSON, "Authorization": f"Bearer {token}"}
    version = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    meta = {**version, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    named = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
    found = httpx2.post(url, json=message, headers={**headers, **named}, timeout=PATIENCE_S, trust_env=False)
    return found.status_code, found.text


def test_over_http_only_files_of_the_working_folder_are_read_and_none_is_run(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "secret.py"
    folder.mkdir()
    outside.write_text("def hidden(): pass\n")
    (folder / "app.py").write_text("def shown(): pass\n")
    (folder / "link.py").symlink_to(outside)
    names = "fault_list_function_names"
    with agent_over_http(folder) as (url, token):
        assert call_over_http(url, None, names, {"file": str(folder / "app.py")})[0] == 401
        status, text = call_over_http(url, token, names, {"file": str(folder / "app.py")})
        assert (status, "shown" in text) == (200, True)
        for path in (outside, folder / "link.py", folder / ".." / "secret.py", tmp_path / "absent.py"):
            status, text = call_over_http(url, token, names, {"file": str(path)})
            assert "expected a path in" in text
            assert "root folder of this server (--root)" in text
            assert "hidden" not in text
        change = {"file": str(folder / "app.py"), "verify": True}
        _, text = call_over_http(url, token, "fault_make_reliability_and_perf_changes", change)
        assert "verify: expected false: this server runs no code" in text
        disk = {"fault_name": "d", "action": "register", "fault_type": "resource_exhaustion"}
        full = {**disk, "metadata": {"resource": "disk", "folder": "/var"}}
        _, text = call_over_http(url, token, "chaos_inject_fault", full)
        assert "metadata.folder: expected a path in" in text
    with agent_over_http(folder, "--root", str(tmp_path)) as (url, token):
        assert "hidden" in call_over_http(url, token, names, {"file": str(outside)})[1]
