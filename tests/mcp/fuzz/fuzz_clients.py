"""Sends mutated messages over the two transports, with legal ones in between that have to be answered."""

from __future__ import annotations

import json
import os
import random
import re
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.mcp.fuzz.fuzzed_process import LIMIT_S, Broken, Figures, Subject
from tests.mcp.fuzz.message_mutator import MODERN, VERSION, call, initialize, mutated

BATCH = 50
_PARALLEL = 64
_PATIENCE_S = 0.06
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
_SESSION = re.compile(rb"mcp-session-id: *([^\r]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_RESET = struct.pack("ii", 1, 0)


def _is_reply(message: Any, id: str) -> bool:
    return isinstance(message, dict) and message.get("id") == id and "method" not in message


def _check(message: Any, id: str) -> None:
    """Check that a legal call was answered with the result of the tool."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or result.get("content") != [{"type": "text", "text": "Ahoy"}]:
        raise Broken(f"{id} got {str(message)[:500]}")


# --- stdio --------------------------------------------------------------------------------------


class Pipes:
    """Both pipes of a process, read and written at once, so that neither side waits for the other to read."""

    def __init__(self, subject: Subject) -> None:
        assert subject.process.stdin is not None
        assert subject.process.stdout is not None
        self._subject = subject
        self._to, self._from = subject.process.stdin.fileno(), subject.process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._rest = b""

    def ask(self, data: bytes, id: str) -> Any:
        """Write all of it; return the message that answers this id, whatever comes before."""
        waiting = memoryview(data)
        end_s = time.monotonic() + LIMIT_S
        while True:
            found = self._take(id)
            if found is not None and not waiting:
                return found
            watch = select.poll()
            watch.register(self._from, select.POLLIN)
            if waiting:
                watch.register(self._to, select.POLLOUT)
            for fd, _ in watch.poll(1000):
                if fd == self._to:
                    with suppress(BlockingIOError, BrokenPipeError):
                        waiting = waiting[os.write(self._to, waiting[: 1 << 16]) :]
                else:
                    self._rest += self._read()
            if time.monotonic() > end_s:
                self._subject.check()
                raise Broken(f"{id} got no reply within {LIMIT_S:g} s")

    def _read(self) -> bytes:
        data = os.read(self._from, 1 << 18)
        if not data:
            time.sleep(0.2)
            self._subject.check()
            raise Broken("it closed its stdout")
        return data

    def _take(self, id: str) -> Any:
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            if id.encode() in line:
                with suppress(ValueError, RecursionError):
                    message = json.loads(line)
                    if _is_reply(message, id):
                        return message
        return None


def fuzz_stdio(
    subject: Subject,
    name: str,
    messages: int,
    seed: object,
    *,
    modern: bool = False,
    made: Callable[[random.Random], list[bytes]] = lambda rng: [mutated(rng) for _ in range(BATCH)],
    counts: int = BATCH,
) -> Figures:
    """`made`: bytes sent before each legal call; `counts`: number of mutated messages in them."""
    figures, rng = Figures(name), random.Random(f"{seed}")
    pipes = Pipes(subject)
    if not modern:
        pipes.ask(json.dumps(initialize("legal-init")).encode() + b"\n", "legal-init")
    begin_s = time.monotonic()
    opening = b"" if modern else _INITIALIZED + b"\n"
    while figures.messages < messages:
        if figures.before.descriptors == 0 and figures.messages >= messages // 5:
            figures.before = subject.usage()
        id = f"legal-{figures.legal}"
        legal = json.dumps(call(id, modern=modern)).encode()
        batch = b"\n".join([*made(rng), legal, b""])
        _check(pipes.ask(opening + batch, id), id)
        opening = b""
        figures.messages += counts
        figures.legal += 1
    figures.seconds = time.monotonic() - begin_s
    figures.after = subject.settled(figures.before.descriptors)
    subject.check()
    return figures


# --- HTTP ---------------------------------------------------------------------------------------


class LegalClient:
    """One legal session on a connection of its own."""

    def __init__(self, port: int, tries: int = 1) -> None:
        """`tries`: attempts of a call where the upstream may close connections at any time."""
        self._port = port
        self._socket = _connected(port)
        self._tries = tries
        self.session = ""
        answer = self._post(json.dumps(initialize("legal-init")).encode(), "legal-init")
        found = _SESSION.search(answer)
        if found is None:
            raise Broken(f"no session was opened: {answer[:300]!r}")
        self.session = found[1].decode()
        self._post(_INITIALIZED, "notification")

    def call(self, id: str, *, modern: bool = False) -> None:
        answer = self._post(json.dumps(call(id, modern=modern)).encode(), id, modern=modern)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise Broken(f"{id} got {answer[:500]!r}")
        message = json.loads(answer.partition(b"\r\n\r\n")[2])
        if not _is_reply(message, id):
            raise Broken(f"{id} got {message}")
        _check(message, id)

    def delete(self, session: str) -> None:
        lines = [f"DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}", f"Mcp-Session-Id: {session}"]
        self._exchange("\r\n".join([*lines, "", ""]).encode(), "DELETE")

    def close(self) -> None:
        self._socket.close()

    def _post(self, body: bytes, id: str, *, modern: bool = False) -> bytes:
        lines = [f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}", "Content-Type: application/json"]
        lines += ["Accept: application/json, text/event-stream", f"Content-Length: {len(body)}"]
        if modern:
            lines += [f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo"]
        elif self.session:
            lines += [f"MCP-Protocol-Version: {VERSION}", f"Mcp-Session-Id: {self.session}"]
        return self._exchange("\r\n".join([*lines, "", ""]).encode() + body, id)

    def _exchange(self, raw: bytes, id: str) -> bytes:
        for _ in range(self._tries - 1):
            with suppress(Broken):
                return self._exchange_once(raw, id)
            self._socket.close()
            self._socket = _connected(self._port)
        return self._exchange_once(raw, id)

    def _exchange_once(self, raw: bytes, id: str) -> bytes:
        try:
            self._socket.sendall(raw)
            answer = b""
            while not _is_whole(answer):
                part = self._socket.recv(1 << 16)
                if not part:
                    raise Broken(f"{id}: the connection was closed after {answer[:300]!r}")
                answer += part
        except OSError as error:
            raise Broken(f"{id} got no reply: {error}") from None
        return answer


def _is_whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    length = _LENGTH.search(answer, 0, end + 2) if end >= 0 else None
    return length is not None and len(answer) >= end + 4 + int(length[1])


def _connected(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class Crowd:
    """Connections that send mutated requests, wait a moment, and close in any way."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self._port, self._rng = port, rng
        self._poll = select.epoll()
        self._open: dict[int, tuple[socket.socket, float]] = {}
        self.sessions: set[str] = set()

    def send(self, raw: bytes) -> None:
        while len(self._open) >= _PARALLEL:
            self.attend(0.05)
        used = self._open.popitem()[1][0] if self._open and self._rng.random() < 0.3 else None
        if used is not None:
            self._poll.unregister(used)
        sock = used or _connected(self._port)
        sock.settimeout(0.5)
        try:
            sock.sendall(raw)
        except OSError:
            # It was refused before it was read to its end, which is allowed.
            self._leave(sock)
            return
        self._open[sock.fileno()] = (sock, time.monotonic() + _PATIENCE_S)
        self._poll.register(sock, select.EPOLLIN)
        self.attend(0)

    def attend(self, wait_s: float) -> None:
        for fd, _ in self._poll.poll(wait_s):
            sock, _ = self._open[fd]
            data = b""
            with suppress(OSError):
                data = sock.recv(1 << 18)
            self.sessions.update(found[1].decode("latin-1") for found in _SESSION.finditer(data))
            if not data or self._rng.random() < 0.5:
                self._forget(fd)
        now_s = time.monotonic()
        for fd in [fd for fd, (_, end_s) in self._open.items() if end_s < now_s]:
            self._forget(fd)

    def leave(self) -> None:
        for fd in tuple(self._open):
            self._forget(fd)

    def _forget(self, fd: int) -> None:
        sock, _ = self._open.pop(fd)
        self._poll.unregister(fd)
        self._leave(sock)

    def _leave(self, sock: socket.socket) -> None:
        how = self._rng.randrange(3)
        with suppress(OSError):
            if how == 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            elif how == 1:
                sock.shutdown(socket.SHUT_WR)
        sock.close()


def fuzz_http(
    subject: Subject,
    name: str,
    port: int,
    messages: int,
    seed: object,
    made: Callable[[random.Random, int, str], bytes],
    *,
    modern: bool = True,
    tries: int = 1,
) -> Figures:
    """`made` returns the bytes of one request for a port and a session that may be broken. `modern`: also
    make legal calls of that era."""
    figures, rng = Figures(name), random.Random(f"{seed}")
    good, victim = LegalClient(port, tries), LegalClient(port, tries)
    crowd = Crowd(port, rng)
    # Things that the first call of an era creates, such as a server process, exist from now on.
    for era in {False, modern}:
        good.call("legal-first", modern=era)
    begin_s, alone = time.monotonic(), subject.usage().descriptors
    while figures.messages < messages:
        if figures.before.descriptors == 0 and figures.messages >= messages // 5:
            crowd.leave()
            figures.before = subject.settled(alone)
        for _ in range(BATCH):
            crowd.send(made(rng, port, victim.session))
        figures.messages += BATCH
        id = f"legal-{figures.legal}"
        good.call(id, modern=modern and figures.legal % 2 == 1)
        figures.legal += 1
        subject.check()
        for session in crowd.sessions - {victim.session, good.session}:
            good.delete(session)
        crowd.sessions.clear()
        with suppress(Broken):
            victim.call("victim")
            continue
        # A mutated request has ended the session, which needs only its id.
        victim.close()
        victim = LegalClient(port, tries)
    crowd.leave()
    good.call("legal-last")
    figures.seconds = time.monotonic() - begin_s
    figures.after = subject.settled(figures.before.descriptors)
    subject.check()
    good.close()
    victim.close()
    return figures
