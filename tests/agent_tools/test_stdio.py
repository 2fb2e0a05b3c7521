"""The server over stdio, as a process with real pipes."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

PATIENCE_S = 20.0
PIPE_BYTES = 60_000
"""Nearly the capacity of a pipe, in bytes."""
PROJECT = Path(__file__).parents[2]
QUIET = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("FAULT_", "QDRANT_")) and not name.endswith("_API_KEY")
}
FAULT = [sys.executable, "-m", "faultkit"]
SAMPLE = [sys.executable, "-m", "tests.agent_tools.sample_server"]
CAPABILITIES = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Served:
    """One server process, and messages written to it line by line."""

    def __init__(self, command: list[str], **env: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=PROJECT,
            env={**QUIET, **env},
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, message: Any) -> None:
        self.send_raw(json.dumps(message).encode())

    def send_raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        line = self._lines.get(timeout=PATIENCE_S)
        assert line, "the server ended"
        document: dict[str, Any] = json.loads(line)
        return document

    def ask(self, id: int | str, method: str, **params: Any) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return self.receive()

    def shake_hands(self) -> None:
        answer = self.ask("hi", "initialize", protocolVersion="2025-11-25", **CAPABILITIES)
        assert answer["result"]["serverInfo"]["name"] == "faultkit"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def begin(self, id: int, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": f"p{id}"}}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def end(self) -> tuple[int, list[bytes], str]:
        """Return the exit code, the remaining lines of stdout, and all of stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> tuple[int, list[bytes], str]:
        assert self.process.stderr is not None
        code = self.process.wait(PATIENCE_S)
        left = []
        while line := self._lines.get(timeout=PATIENCE_S):
            left.append(line)
        return code, left, self.process.stderr.read().decode()


@contextmanager
def served(command: list[str], **env: str) -> Iterator[Served]:
    server = Served(command, **env)
    try:
        yield server
    finally:
        with suppress(OSError):
            server.process.kill()
        server.process.wait(PATIENCE_S)
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            assert stream is not None
            with suppress(OSError):
                stream.close()


def test_both_eras_are_served_and_the_end_of_input_is_the_end(tmp_path: Path) -> None:
    place = tmp_path / "a.py"
    place.write_text("def f(): pass\n")

    async def visit(mode: str) -> None:
        parameters = StdioServerParameters(
            command=FAULT[0], args=[*FAULT[1:], "agent", "tool"], env=QUIET, cwd=PROJECT
        )
        with anyio.fail_after(PATIENCE_S):
            async with Client(parameters, mode=mode) as client:
                assert len((await client.list_tools()).tools) == 21
                found = await client.call_tool("fault_list_function_names", {"file": str(place)})
                assert found.structured_content == {"names": ["f"], "language": "python"}

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(visit, "legacy")
            group.start_soon(visit, "2026-07-28")

    anyio.run(both)


def test_what_is_no_message_is_answered_and_what_is_no_answer_is_not_on_stdout() -> None:
    log = ["--log-stdout", "--log-level", "debug"]
    with served([*FAULT, *log, "agent", "tool"], OPENAI_API_KEY="") as server:
        server.send_raw(b"{not json")
        answer = server.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, types.PARSE_ERROR)
        server.send_raw(b"")
        server.send_raw("\xff".encode("latin-1"))
        assert server.receive()["error"]["code"] == types.PARSE_ERROR
        for message, id in (
            ([], None),
            (7, None),
            ({"jsonrpc": "2.0", "id": 5}, 5),
            ({"jsonrpc": "1.0", "id": "x", "method": "ping"}, "x"),
            ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
            ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
            ({"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}, None),
        ):
            server.send(message)
            answer = server.receive()
            assert (answer["id"], answer["error"]["code"]) == (id, types.INVALID_REQUEST)
        server.shake_hands()
        assert server.ask(1, "tools/call")["error"]["code"] == types.INVALID_PARAMS
        assert server.ask(2, "tools/call", name="nope")["error"]["code"] == types.INVALID_PARAMS
        assert server.ask(3, "tools/call", name=7)["error"]["code"] == types.INVALID_PARAMS
        assert server.ask(4, "nonsense")["error"]["code"] == types.METHOD_NOT_FOUND
        wrong = server.ask(5, "tools/call", name="fault_list_function_names", arguments={"file": "a.py"})
        assert wrong["result"]["isError"] is True
        code, left, errors = server.end()
    assert (code, left) == (0, [])
    assert errors.startswith("warning: stdout carries MCP messages: the log goes to stderr\n")
    assert "fault_list_function_names: failed" in errors
    assert "the server ended: end of input" in errors


def test_a_stray_print_goes_to_stderr_and_a_cancelled_call_is_not_answered() -> None:
    with served(SAMPLE) as server:
        server.shake_hands()
        server.begin(1, "chatty")
        assert server.receive()["result"]["content"][0]["text"] == "said"
        server.begin(2, "wait", key="a")
        assert server.receive()["params"] == {"progressToken": "p2", "progress": 1.0, "message": "waiting"}
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        server.begin(3, "echo", word="on")
        assert server.receive()["id"] == 3
        code, left, errors = server.end()
    assert (code, left) == (0, [])
    assert "a stray print" in errors


@pytest.mark.parametrize("command", [["agent", "tool"], ["chaos", "serve"]])
def test_requests_that_came_before_the_end_of_input_are_answered(command: list[str], tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", **CAPABILITIES}
    with served([*FAULT, *command], XDG_STATE_HOME=str(tmp_path)) as server:
        lines = [
            {"jsonrpc": "2.0", "id": "hi", "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 9, "method": "ping"},
            {"jsonrpc": "2.0", "id": 10, "method": "tools/list"},
        ]
        server.send_raw(b"\n".join(json.dumps(line).encode() for line in lines))
        code, left, _ = server.end()
    assert code == 0
    assert sorted(str(json.loads(line)["id"]) for line in left) == ["10", "9", "hi"]


def test_at_the_end_of_input_calls_are_wound_up() -> None:
    with served(SAMPLE) as server:
        server.shake_hands()
        server.begin(1, "wait", key="a")
        assert server.receive()["method"] == "notifications/progress"
        code, _, errors = server.end()
    assert code == 0
    assert "ended: end of input" in errors


@pytest.mark.parametrize(
    ("number", "code", "why"),
    [(signal.SIGTERM, 0, "terminate"), (signal.SIGINT, 130, "interrupt")],
    ids=["SIGTERM", "SIGINT"],
)
def test_a_signal_ends_it_although_stdin_stays_open(number: int, code: int, why: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with served([*FAULT, "--log-file", str(log), "agent", "tool"]) as server:
        server.shake_hands()
        server.process.send_signal(number)
        assert server.wait() == (code, [], "")
    assert f"the server ended: {why}" in log.read_text()


def unread_bytes(source: int) -> int:
    return int.from_bytes(fcntl.ioctl(source, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_client_that_reads_nothing_cannot_hold_up_the_end() -> None:
    source, sink = os.pipe()
    process = subprocess.Popen(
        [*FAULT, "agent", "tool"], stdin=subprocess.PIPE, stdout=sink, cwd=PROJECT, env=QUIET
    )
    os.close(sink)
    assert process.stdin is not None
    try:
        hello = {"protocolVersion": "2025-11-25", **CAPABILITIES}
        messages: list[dict[str, Any]] = [{"id": 0, "method": "initialize", "params": hello}]
        messages += [{"id": id, "method": "tools/list"} for id in range(1, 8)]
        for each in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n")
        process.stdin.flush()
        until = time.monotonic() + PATIENCE_S
        while unread_bytes(source) < PIPE_BYTES and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        os.close(source)
        with suppress(OSError):
            process.stdin.close()
