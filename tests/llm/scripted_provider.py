"""A provider for tests: a real HTTP server on loopback that answers by a script, request by request.

Answers are those of the mock of LLM APIs (`faultkit.llm.mock`); the script adds what that mock never sends:
a response without an end, bodies and statuses that no provider has.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.dialects.turn import ToolCall, Turn

PATIENCE_S = 20.0
NAMES = {"openai": "openai_chat", "anthropic": "anthropic_messages"}
_USAGES = {
    "openai": ("prompt_tokens", "completion_tokens"),
    "anthropic": ("input_tokens", "output_tokens"),
}


@dataclass(frozen=True)
class Send:
    """A step that sends an HTTP response."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """A step that sends nothing while the test runs."""


@dataclass(frozen=True)
class Drip:
    """A step that sends a byte every 20 ms without an end."""


@dataclass(frozen=True)
class Break:
    """A step that resets the connection, before a response or in the middle of one."""

    after: bytes = b""


Step = Send | Hang | Drip | Break


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: Any


class ScriptedServer:
    """A server that answers each request with the next step of its script, and then with the last one."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.arrived = threading.Event()
        self._steps: deque[Step] = deque()
        self._over = threading.Event()
        self._lock = threading.Lock()
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                script._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def play(self, *steps: Step) -> None:
        self._steps = deque(steps)

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_S)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers["content-length"])
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.requests.append(Request(handler.path, headers, json.loads(handler.rfile.read(length))))
            step = self._steps.popleft() if len(self._steps) > 1 else self._steps[0]
        self.arrived.set()
        handler.close_connection = True
        if isinstance(step, Hang):
            self._over.wait(PATIENCE_S)
        elif isinstance(step, Break):
            handler.wfile.write(step.after)
            # Closing with a linger of 0 sends a reset instead of an orderly end.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
        elif isinstance(step, Drip):
            self._drip(handler)
        else:
            _send(handler, step)

    def _drip(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        try:
            while not self._over.wait(0.02):
                handler.wfile.write(b" ")
        except OSError:
            pass


def _send(handler: BaseHTTPRequestHandler, step: Send) -> None:
    raw = step.body.encode() if isinstance(step.body, str) else json.dumps(step.body).encode()
    handler.send_response_only(step.status)
    for name, value in {"content-type": "application/json", **step.headers}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(raw)))
    # Announce the end, so that no client sends its next request on this connection.
    handler.send_header("connection", "close")
    handler.end_headers()
    handler.wfile.write(raw)


def answer(dialect: str, turn: Turn, tokens: tuple[int, int] = (11, 7)) -> Send:
    """Return a turn as the mock of LLM APIs sends it, with these counts of tokens."""
    own = DIALECTS[NAMES[dialect]]
    body = own.whole_of(turn, LlmRequest(own, "", {}))
    body["usage"] = dict(zip(_USAGES[dialect], tokens, strict=True))
    return Send(body)


def said(dialect: str, text: str, *, cut: bool = False) -> Send:
    """Return a model's answer: a text, whole or cut at its length."""
    return answer(dialect, Turn("said-by-server", "x", (text,), finish="length" if cut else "stop"))


def tool_input(value: Any) -> Send:
    """Return Anthropic's answer as the input of the tool that was asked for."""
    call = ToolCall("answer", value, "t")
    return answer("anthropic", Turn("said-by-server", "x", (), (call,), "tool_calls"))


def error(dialect: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> Send:
    inner = {"message": message, "type": "some_error"}
    body = {"error": inner} if dialect == "openai" else {"type": "error", "error": inner}
    return Send(body, status, headers or {})
