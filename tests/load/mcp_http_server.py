"""An MCP server over streamable HTTP on real sockets, scripted by the test, which counts what it is asked."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.load.servers import read_request
from tests.load.stream_servers import END, HEAD, chunk

Plan = Callable[[int], str]
"""What to do with call number 1, 2 and so on, of all sessions."""


def http(status: int, body: bytes = b"", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{headers}\r\n".encode() + body


@dataclass
class McpServer:
    """Pass its `serve` to `serving`."""

    plan: Plan = lambda number: "json"
    counts: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    """Sessions that are known."""
    calls: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    """Headers and message of each call."""
    cancelled: list[tuple[str, int]] = field(default_factory=list)
    """Session and id of each call that was cancelled in a session that is known."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, connection: socket.socket, number: int) -> None:
        with self.lock:
            self.counts["connections"] += 1
        while request := read_request(connection):
            if not self._answer(connection, request):
                return

    def _answer(self, connection: socket.socket, request: bytes) -> bool:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = re.findall(r"([\w-]+): (.*)", head.decode().replace("\r", ""))
        headers = {name.lower(): value for name, value in lines}
        session = headers.get("mcp-session-id", "")
        if request.startswith(b"DELETE"):
            with self.lock:
                self.counts["delete"] += 1
                self.sessions.discard(session)
            connection.sendall(http(200))
            return True
        message = json.loads(body)
        method = message.get("method", "answer")
        with self.lock:
            self.counts[method] += 1
            number = self.counts[method]
            if method == "initialize":
                session = f"s{number}"
                self.sessions.add(session)
        result: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
        if method == "initialize":
            self._reply(connection, message["id"], result, f"Mcp-Session-Id: {session}\r\n")
        elif method in ("notifications/initialized", "answer"):
            connection.sendall(http(202))
        elif method == "notifications/cancelled":
            with self.lock:
                if session in self.sessions:
                    self.cancelled.append((session, message["params"]["requestId"]))
            connection.sendall(http(202))
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"a": {"type": "integer", "x-mcp-header": "A"}}}
            self._reply(connection, message["id"], {"tools": [{"name": "add", "inputSchema": schema}]})
        else:
            with self.lock:
                self.calls.append((headers, message))
            if session and session not in self.sessions:
                connection.sendall(http(404, b"gone"))
                return True
            return self._call(connection, message["id"], session, self.plan(number))
        return True

    def _reply(self, connection: socket.socket, id: object, result: object, headers: str = "") -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        connection.sendall(http(200, body, headers))

    def _call(self, connection: socket.socket, id: int, session: str, do: str) -> bool:
        result = {"content": [], "isError": do.endswith("tool_error")}
        reply = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}).encode()
        error = {"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no"}}
        match do:
            case "json" | "tool_error":
                connection.sendall(http(200, reply))
            case "events":
                connection.sendall(HEAD + chunk(b"data: %s\n\n" % note) + chunk(b"data: %s\n\n" % reply))
                time.sleep(0.01)
                connection.sendall(END)
            case "ask":
                ping = json.dumps({"jsonrpc": "2.0", "id": "p", "method": "ping"}).encode()
                before = self.counts["answer"]
                connection.sendall(HEAD + chunk(b"data: %s\n\n" % ping))
                while self.counts["answer"] == before:
                    time.sleep(0.005)
                connection.sendall(chunk(b"data: %s\n\n" % reply) + END)
            case "open stream":
                connection.sendall(HEAD + chunk(b"data: %s\n\n" % reply))
                connection.recv(1)  # Until the client ends it.
                return False
            case "silence":
                connection.recv(1)  # Until the client gives up.
                return False
            case "no reply":
                connection.sendall(HEAD + chunk(b"data: %s\n\n" % note) + END)
            case "rpc_error":
                connection.sendall(http(200, json.dumps(error).encode()))
            case "rpc_error 400":
                connection.sendall(http(400, json.dumps({**error, "id": None}).encode()))
            case "other id":
                connection.sendall(http(200, json.dumps({**error, "id": 999999}).encode()))
            case "forget" | "forget, tool_error":
                with self.lock:
                    self.sessions.discard(session)
                connection.sendall(http(200, reply))
            case "close":
                return False
            case _:
                connection.sendall(http(int(do), b"{"))
        return True
