"""An app with an upstream, both on real sockets. They record their requests, to compare reports with."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from faultkit.agent_tools.argument_kinds import read_arguments
from faultkit.agent_tools.impact_tools import IMPACT_TOOLS
from faultkit.agent_tools.tool import Services, ToolCall, ToolResult
from faultkit.base.address import Endpoint

TOOLS = {tool.name.removeprefix("fault_run_").removesuffix("_impact_scenario"): tool for tool in IMPACT_TOOLS}
_BODY = b"x" * 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the app recorded it."""

    took_ms: float
    outgoing_ms: float | None
    """Duration of its call to the upstream, if it made one."""
    outgoing_status: int | None
    """None if there was no response within the app's time limit."""
    came_s: float
    """Time on the clock of `time.monotonic`."""


class App(ThreadingHTTPServer):
    """An app that calls `upstream` for each request, on a new connection, and answers 502 if that fails."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: str | None = None, outgoing_timeout_s: float = 5.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.outgoing_timeout_s = outgoing_timeout_s
        self.asked: list[Asked] = []
        """In the order in which they were answered."""
        self.came_s: list[float] = []
        """When each came, whatever became of it."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # The client has given up.

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.server_port)

    @property
    def url(self) -> str:
        return f"http://{self.endpoint}/"

    @property
    def outgoing(self) -> list[Asked]:
        return [each for each in self.asked if each.outgoing_ms is not None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: App

    def do_GET(self) -> None:
        came_s, began = time.monotonic(), time.perf_counter()
        self.server.came_s.append(came_s)
        outgoing_ms, status = None, None
        if self.server.upstream is not None:
            status = _status_of(self.server.upstream, self.server.outgoing_timeout_s)
            outgoing_ms = 1000 * (time.perf_counter() - began)
        try:
            self.send_response(200 if self.server.upstream is None or status == 200 else 502)
            self.send_header("Content-Length", str(len(_BODY)))
            self.end_headers()
            self.wfile.write(_BODY)
        finally:  # Also if the client has given up.
            took_ms = 1000 * (time.perf_counter() - began)
            self.server.asked.append(Asked(took_ms, outgoing_ms, status, came_s))

    def log_message(self, format: str, *args: object) -> None:
        pass


def _status_of(url: str, timeout_s: float) -> int | None:
    host = urlsplit(url)
    connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=timeout_s)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/")
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return None
        return answer.status


@contextlib.contextmanager
def app(upstream: str | None = None, outgoing_timeout_s: float = 5.0) -> Iterator[App]:
    with App(upstream, outgoing_timeout_s) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield served
        finally:
            served.shutdown()
            thread.join()


def call_of(
    kind: str,
    given: dict[str, Any],
    services: Services | None = None,
    cancelled: threading.Event | None = None,
) -> ToolCall:
    values = read_arguments(TOOLS[kind], given)
    return ToolCall(values, services or Services(), cancelled or threading.Event(), lambda *told: None)


def perform(kind: str, call: ToolCall) -> ToolResult:
    module, _, name = TOOLS[kind].run.partition(":")
    result: ToolResult = getattr(import_module(module), name)(call)
    return result


def run(kind: str, **given: Any) -> dict[str, Any]:
    """Run an impact tool, and return its structured result."""
    return perform(kind, call_of(kind, given)).structured
