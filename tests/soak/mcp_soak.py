"""Soaks `fault mock` and `fault gateway`: sessions that are opened, used and dropped, over HTTP and stdio."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from faultkit.proxy.control.control_client import ControlClient
from tests.fuzz.api_fuzz import CONTROL, TOKEN
from tests.mcp.fuzz.fuzz_clients import Pipes
from tests.mcp.fuzz.fuzzed_process import FAULT, Broken, Subject, manifest, running
from tests.mcp.fuzz.message_mutator import call, initialize
from tests.soak.rest import PATIENCE_S, wait_for_rest

_AT_ONCE = 6
_WAIT_S = 1.0
"""How long a client waits for an answer, which a fault may hold back."""
_FAULTS = ("slow:20%0.2", "hang%0.1", "tool_error%0.1", "disconnect%0.1", "tcp_reset%0.1", "slow_drip%0.1")
_HTTP = ("--front", "http", "--port", "0")
_KEPT = 64
"""Connections that a gateway keeps open to its upstream: as many as were in use at a time."""
_READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def _mock(path: str, *words: str) -> tuple[str, ...]:
    return (*FAULT, "mock", "--tools-from", path, *words)


def _flags(faults: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for fault in faults for word in ("--fault", fault))


class Visit:
    """One client over HTTP: it opens a session, calls tools, and leaves in some way."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self._rng = rng
        self._port = port
        self._session = ""

    def go(self) -> None:
        with suppress(OSError, HTTPException, ValueError):
            self._use()
        if self._session:
            with suppress(OSError, HTTPException):
                self._send("DELETE", None)

    def _use(self) -> None:
        self._send("POST", initialize("init"))
        self._send("POST", _READY)
        for number in range(self._rng.randint(1, 4)):
            # Some clients leave while their call is under way, and delete their session meanwhile.
            self._send("POST", call(number), wait_s=0.01 if self._rng.random() < 0.3 else _WAIT_S)

    def _send(self, method: str, message: Any, wait_s: float = 10.0) -> None:
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=wait_s)) as connection:
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            if self._session:
                headers |= {"Mcp-Session-Id": self._session, "MCP-Protocol-Version": "2025-11-25"}
            connection.request(method, "/mcp", None if message is None else json.dumps(message), headers)
            answer = connection.getresponse()
            self._session = answer.getheader("Mcp-Session-Id") or self._session
            answer.read()


def _soak_http(
    subject: Subject, seconds: float, seed: str, *, kept: int = 0, control: ControlClient | None = None
) -> str:
    port, rng = subject.port(), random.Random(seed)
    Visit(port, rng).go()
    start = subject.usage()
    end_s, count = time.monotonic() + seconds, 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while time.monotonic() < end_s:
            list(pool.map(lambda visit: visit.go(), [Visit(port, rng) for _ in range(_AT_ONCE)]))
            count += _AT_ONCE
            if control is not None:
                fault = rng.choice(["slow", "tool_error", "lost_reply", "malformed_json"])
                control.put_plan({"rules": [{"fault": fault, "trigger": {"probability": 0.2}}]}, ttl_s=0.2)
    after = wait_for_rest(subject, start, kept=kept)
    return f"{count:,} sessions, sockets {start.sockets} to {after.sockets}"


def soak_http_mock(seconds: float, seed: str) -> str:
    """Soak the mock over HTTP, and return what was done. Raises Broken."""
    with manifest() as path, running(_mock(path, *_HTTP, *_flags(_FAULTS)), piped=False) as subject:
        return _soak_http(subject, seconds, seed)


def soak_http_gateway(seconds: float, seed: str) -> str:
    """Soak a gateway between HTTP and HTTP, while its rules change."""
    with manifest() as path, running(_mock(path, *_HTTP), piped=False) as behind:
        url = f"http://127.0.0.1:{behind.port()}/mcp"
        words = ("gateway", "--upstream", url, *_HTTP, "--control", "127.0.0.1:0", *_flags(_FAULTS))
        with running((*FAULT, *words), piped=False, FAULT_CONTROL_TOKEN=TOKEN) as subject:
            control = ControlClient(f"http://127.0.0.1:{subject.port(CONTROL)}", TOKEN)
            done = _soak_http(subject, seconds, seed, kept=_KEPT, control=control)
        behind.check()
        return done


def soak_gateway_of_processes(seconds: float, seed: str) -> str:
    """Soak a gateway over HTTP that starts a server for each session: none may be left."""
    with manifest() as path:
        words = ("gateway", *_HTTP, "--no-token", *_flags(_FAULTS[:3]), "--", *_mock(path))
        with running((*FAULT, *words), piped=False) as subject:
            return _soak_http(subject, seconds, seed)


def soak_stdio(seconds: float, seed: str) -> str:
    """Start mock and gateway over stdio, again and again, and leave them by closing their stdin."""
    end_s, count, rng = time.monotonic() + seconds, 0, random.Random(seed)
    with manifest() as path:
        while count == 0 or time.monotonic() < end_s:
            mock = _mock(path, *_flags(_FAULTS[:2]))
            for command in (mock, (*FAULT, "gateway", "--", *mock)):
                with running(command, piped=True) as subject:
                    _leave_stdio(subject, rng)
                count += 1
    return f"{count:,} processes, all ended with their clients"


def _leave_stdio(subject: Subject, rng: random.Random) -> None:
    pipes = Pipes(subject)
    pipes.ask(_line(initialize("init")) + _line(_READY), "init")
    assert subject.process.stdin is not None
    subject.process.stdin.write(b"".join(_line(call(number)) for number in range(rng.randint(0, 20))))
    children = subject.children()
    subject.process.stdin.close()
    code = subject.process.wait(PATIENCE_S)
    if code != 0:
        raise Broken(f"it ended with {code} when its client left")
    end_s = time.monotonic() + PATIENCE_S
    while left := [pid for pid in children if Path(f"/proc/{pid}").exists()]:
        if time.monotonic() > end_s:
            raise Broken(f"its child processes {left} outlive it")
        time.sleep(0.05)


def _line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"
