"""A raw MCP client that costs next to nothing: it writes finished lines and requests, and counts replies.

What came back is checked, each reply for its id and its text, but not within the time that is measured.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bench.load import LoadError

Era: TypeAlias = Literal["legacy", "modern"]

TOOL, TEXT = "echo", "hello"
"""The tool that is called, and its argument."""

_LEGACY, _MODERN = "2025-11-25", "2026-07-28"
_LIMIT_S = 20.0
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_SESSION = re.compile(rb"mcp-session-id: *([^\r]+)", re.IGNORECASE)
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_INFO = {"protocolVersion": _LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": _INFO}).encode()
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


@dataclass(frozen=True, slots=True)
class CallArgument:
    """The argument of each call, with a placeholder for its number, and the expected text."""

    arguments: str
    answer: Callable[[int], str]


SAME = CallArgument('{"text":"Ahoy"}', lambda id: TEXT)
ECHO = CallArgument(
    '{"message":"call %d"}', lambda id: json.dumps({"message": f"call {id}"}, separators=(",", ":"))
)
"""Arguments that differ, so that no cache helps."""


def call_template(era: Era, saying: CallArgument = SAME, tool: str = TOOL) -> bytes:
    """Return a call of the tool, with placeholders for its id and for the number in its argument."""
    meta = "" if era == "legacy" else f',"_meta":{json.dumps(_META)}'
    params = f'{{"name":"{tool}","arguments":{saying.arguments}{meta}}}'
    return f'{{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{params}}}'.encode()


@dataclass(frozen=True, slots=True)
class Sample:
    """The number of calls, their duration, and the CPU time of the client."""

    calls: int
    elapsed_s: float
    client_cpu_s: float


# Stdio


class StdioClient:
    """A legacy client of one server behind two pipes."""

    def __init__(self, to_server: int, from_server: int) -> None:
        self._to, self._from = to_server, from_server
        self._call = call_template("legacy") + b"\n"
        self._next = 0
        self._write(INITIALIZE + b"\n")
        self._read_line()
        self._write(INITIALIZED + b"\n")

    def call(self) -> float:
        """Return the seconds of one call."""
        line = self._call % self._next
        begin_s = time.perf_counter()
        self._write(line)
        reply = self._read_line()
        took_s = time.perf_counter() - begin_s
        _check(json.loads(reply), self._next)
        self._next += 1
        return took_s

    def calls(self, in_flight: int, seconds: float) -> Sample:
        """Make calls for a time, with a fixed number in flight."""
        call, first, got = self._call, self._next, 0
        came: list[bytes] = []
        cpu_s, begin_s = time.process_time(), time.perf_counter()
        end_s = begin_s + seconds
        self._write(b"".join(call % id for id in range(first, first + in_flight)))
        asked = first + in_flight
        while True:
            data = self._read()
            came.append(data)
            count = data.count(b"\n")
            got += count
            if time.perf_counter() >= end_s:
                break
            if count:
                self._write(b"".join([call % id for id in range(asked, asked + count)]))
                asked += count
        elapsed_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - cpu_s
        self._next = asked
        # Calls in flight are not counted, but must be answered.
        late = 0
        while got + late < asked - first:
            came.append(self._read())
            late += came[-1].count(b"\n")
        _check_all(b"".join(came), first, asked)
        return Sample(got, elapsed_s, cpu_s)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._to, data) :]

    def _read(self) -> bytes:
        data = os.read(self._from, 1 << 18)
        if not data:
            raise LoadError("the server ended")
        return data

    def _read_line(self) -> bytes:
        data = self._read()
        while not data.endswith(b"\n"):
            data += self._read()
        return data


def _check(reply: object, id: int, text: str = TEXT) -> None:
    result = reply.get("result") if isinstance(reply, dict) and reply.get("id") == id else None
    if not isinstance(result, dict) or result.get("content") != [{"type": "text", "text": text}]:
        raise LoadError(f"call {id} got {str(reply)[:200]}")


def _check_all(lines: bytes, first: int, end: int) -> None:
    """Check that each call has exactly one reply."""
    replies = {reply["id"]: reply for reply in map(json.loads, lines.splitlines())}
    for id in range(first, end):
        _check(replies.pop(id, None), id)
    if replies:
        raise LoadError(f"{len(replies)} unexpected replies")


# HTTP


class HttpClient:
    """Connections to one server, each with at most one request in flight."""

    def __init__(self, port: int, era: Era, connections: int = 1, saying: CallArgument = SAME) -> None:
        self._port = port
        self._sockets = [connected(port) for _ in range(connections)]
        self._template = call_template(era, saying)
        self._places = self._template.count(b"%d")
        self._answer = saying.answer
        self._next = 0
        self._head = call_head(port, self._open() if era == "legacy" else None)

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    def call(self) -> float:
        """Return the seconds of one call on the first connection."""
        id = self._next
        self._next += 1
        raw = self._request(id)
        begin_s = time.perf_counter()
        self._sockets[0].sendall(raw)
        reply = read_answer(self._sockets[0])
        took_s = time.perf_counter() - begin_s
        _check_answer(reply, id, self._answer(id))
        return took_s

    def calls(
        self,
        in_flight: int,
        seconds: float,
        most: int | None = None,
        answered: list[tuple[int, float]] | None = None,
    ) -> Sample:
        """Make calls for a time, with one in flight on each connection. `most`: this many calls instead,
        however long they take. `answered`: is called with each answered call and the time of its reply."""
        sockets = {each.fileno(): each for each in self._sockets[:in_flight]}
        partial: dict[int, bytes] = dict.fromkeys(sockets, b"")
        asked: dict[int, int] = {}
        came: list[tuple[int, bytes]] = []
        done, ending = 0, False
        cpu_s, begin_s = time.process_time(), time.perf_counter()
        end_s, elapsed_s = begin_s + seconds, 0.0
        with select.epoll() as poll:
            for fd, each in sockets.items():
                poll.register(fd, select.EPOLLIN)
                each.sendall(self._request(self._take(asked, fd)))
            while asked:
                events = poll.poll(_LIMIT_S)
                if not events:
                    raise LoadError(f"{len(asked)} calls got no reply within {_LIMIT_S:g} s")
                for fd, _ in events:
                    answer = partial[fd] + _received(sockets[fd])
                    if not _is_whole(answer):
                        partial[fd] = answer
                        continue
                    partial[fd] = b""
                    came.append((asked.pop(fd), answer))
                    if answered is not None:
                        answered.append((came[-1][0], time.monotonic()))
                    if not ending:
                        done += 1
                        if most is None or self._next < most:
                            sockets[fd].sendall(self._request(self._take(asked, fd)))
                if not ending and (not asked if most is not None else time.perf_counter() >= end_s):
                    ending = True
                    elapsed_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - cpu_s
        for id, answer in came:
            _check_answer(answer, id, self._answer(id))
        return Sample(done, elapsed_s, cpu_s)

    @property
    def asked(self) -> int:
        """Return the number of calls."""
        return self._next

    def _take(self, asked: dict[int, int], fd: int) -> int:
        asked[fd] = id = self._next
        self._next += 1
        return id

    def _request(self, id: int) -> bytes:
        body = self._template % ((id,) * self._places)
        return self._head % len(body) + body

    def _open(self) -> bytes:
        return open_session(self._sockets[0], self._port)


def connected(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=_LIMIT_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _head_of(method: str, port: int, lines: Sequence[str]) -> str:
    accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
    return "\r\n".join(
        [f"{method} /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Accept: {accept}", *lines, ""]
    )


def call_head(port: int, session: bytes | None, tool: str = TOOL) -> bytes:
    """Return the head of a request, with a placeholder for the body's length. Modern era: no session."""
    if session is None:
        own = [f"MCP-Protocol-Version: {_MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {tool}"]
    else:
        own = [f"MCP-Protocol-Version: {_LEGACY}", f"Mcp-Session-Id: {session.decode()}"]
    head = _head_of("POST", port, ["Content-Type: application/json", *own])
    return head.encode() + b"Content-Length: %d\r\n\r\n"


def open_session(sock: socket.socket, port: int) -> bytes:
    """Begin a legacy session; return its id."""
    head = _head_of("POST", port, ["Content-Type: application/json"]).encode()
    sock.sendall(head + b"Content-Length: %d\r\n\r\n" % len(INITIALIZE) + INITIALIZE)
    answer = read_answer(sock)
    found = _SESSION.search(answer)
    if found is None:
        raise LoadError(f"no session was opened: {answer[:200]!r}")
    own = [f"MCP-Protocol-Version: {_LEGACY}", f"Mcp-Session-Id: {found[1].decode()}"]
    head = _head_of("POST", port, ["Content-Type: application/json", *own]).encode()
    sock.sendall(head + b"Content-Length: %d\r\n\r\n" % len(INITIALIZED) + INITIALIZED)
    if not read_answer(sock).startswith(b"HTTP/1.1 202"):
        raise LoadError("the session was not begun")
    return found[1]


class IdleSessions:
    """Legacy sessions, each with a connection for its calls and its stream held open."""

    def __init__(self, port: int, count: int) -> None:
        self._held: list[tuple[socket.socket, socket.socket, bytes]] = []
        for _ in range(count):
            calls, stream = connected(port), connected(port)
            session = open_session(calls, port)
            own = [f"MCP-Protocol-Version: {_LEGACY}", f"Mcp-Session-Id: {session.decode()}"]
            stream.sendall(_head_of("GET", port, own).encode() + b"\r\n")
            if not _received(stream).startswith(b"HTTP/1.1 200"):
                raise LoadError("the session has no stream")
            self._held.append((calls, stream, call_head(port, session)))

    def answering(self) -> int:
        """Return how many sessions still answer a call and have their stream open."""
        template = call_template("legacy")
        good = 0
        for id, (calls, stream, head) in enumerate(self._held):
            body = template % id
            calls.sendall(head % len(body) + body)
            _check_answer(read_answer(calls), id)
            stream.setblocking(False)
            try:
                good += stream.recv(1 << 16) != b""
            except BlockingIOError:
                good += 1
        return good

    def close(self) -> None:
        for calls, stream, _ in self._held:
            calls.close()
            stream.close()


def _received(sock: socket.socket) -> bytes:
    data = sock.recv(1 << 16)
    if not data:
        raise LoadError("the server closed a connection")
    return data


def read_answer(sock: socket.socket) -> bytes:
    answer = _received(sock)
    while not _is_whole(answer):
        answer += _received(sock)
    return answer


def _is_whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    length = _LENGTH.search(answer, 0, end + 2)
    if length is None:
        raise LoadError(f"an answer without a length: {answer[:200]!r}")
    return len(answer) >= end + 4 + int(length[1])


def _check_answer(answer: bytes, id: int, text: str = TEXT) -> None:
    if not answer.startswith(b"HTTP/1.1 200"):
        raise LoadError(f"call {id} got {answer[:300]!r}")
    _check(json.loads(answer.partition(b"\r\n\r\n")[2]), id, text)
