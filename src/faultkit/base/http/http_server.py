"""An HTTP/1.1 server whose responses can be cut, dripped, reset or left open.

A handler gets each complete request with a `ResponseWriter`. It must not block: it responds at once, or keeps
the writer and responds later. Requests of one connection are answered one at a time, in order (RFC 9112
§9.3.2).
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import httptools

from faultkit.base.address import Endpoint
from faultkit.base.http.http_exchange import (
    Headers,
    HttpRequest,
    ResponseWriter,
    head_of,
    read_in_small_pieces,
)
from faultkit.base.http.known_head import KnownHead, known_head
from faultkit.base.http.listener import Listener

MOST_HEADER_BYTES = 64 << 10
MOST_BODY_BYTES = 64 << 20
HEADER_TIME_S = 20.0
"""Seconds in which a request must arrive completely; after that it is answered with 408."""
IDLE_S = 300.0
_MOST_WAITING = 64
"""Pipelined requests that may wait before reading pauses."""
_MOST_REST_BYTES = 64 << 20
_REST_S = 2.0
"""Bytes and seconds for which a refused client may go on sending."""
_BACKLOG = 1024
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)

Handler: TypeAlias = Callable[[HttpRequest, ResponseWriter], None]


@lru_cache(maxsize=1024)
def _header_name(name: bytes) -> tuple[str, str]:
    """Return a header name as received and in lower case; cached, because requests share few names."""
    called = name.decode("latin-1")
    return called, called.lower()


class _Connection(asyncio.Protocol):
    """One client connection. It is the protocol object of httptools too, which saves calls."""

    def __init__(self, handler: Handler, connections: set[_Connection], limits: RequestLimits) -> None:
        self.transport: asyncio.Transport | None = None
        self._handler = handler
        self._connections = connections
        self._limits = limits
        self._most_header_bytes = limits.header_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[HttpRequest, bool]] = deque()
        self._current: ResponseWriter | None = None
        self._keep_alive = True
        self._peer = ""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due_s: float | None = None
        self._writable: asyncio.Future[None] | None = None
        self._paused = False
        self._known: tuple[HttpRequest, KnownHead] | None = None
        """A request whose head was parsed, and is not parsed again when the same bytes come."""
        self._completed = 0
        """Requests that the bytes being parsed have completed."""
        self._latest: tuple[HttpRequest, bool] | None = None
        """The latest of them, and whether the connection is kept after it."""
        self._begin()

    def _begin(self) -> None:
        self._target = b""
        self._lines: Headers = []
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = 0
        self._header_bytes = 0
        self._in_request = self._is_timed = False

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        read_in_small_pieces(transport)
        peer = transport.get_extra_info("peername")
        self._peer = str(Endpoint(peer[0], peer[1])) if isinstance(peer, tuple) else ""
        self._connections.add(self)
        self._expect(self._limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._connections.discard(self)
        self._due_s = None
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        self.resume_writing()
        if self._current is not None:
            current, self._current = self._current, None
            current.client_disconnected()

    def data_received(self, data: bytes) -> None:
        if self._known is not None and not self._in_request and self._current is None and not self._waiting:
            request, head = self._known
            taken = head.take(data)
            if taken is not None and len(taken[2]) <= self._limits.body_bytes:
                lines, headers, body = taken
                same = HttpRequest(
                    request.method, request.target, headers, lines, body, self._peer, head.memo
                )
                self._keep_alive = True
                self._handle(same)
                return
        try:
            self._feed(data)
        except httptools.HttpParserError as error:
            # httptools wraps what a callback raises.
            refused = error.__context__
            if isinstance(refused, _Refused):
                self._refuse(refused.status, refused.why)
            else:
                self._refuse(400, str(error) or "this is no HTTP request")
        # Most requests arrive in one read and need no timer.
        if self._in_request and not self._is_timed and self._current is None:
            self._is_timed = True
            self._expect(self._limits.header_s)

    def _feed(self, data: bytes) -> None:
        """Parse data. An offer to change the protocol is ignored, as RFC 9110, section 7.8, allows.

        httptools takes what follows such a request for another protocol, also its body. So the request is
        parsed again without the offer."""
        while data:
            begins, self._completed = not self._in_request, 0
            try:
                self._parser.feed_data(data)
                if self._completed == 1 and begins and not self._in_request:
                    self._learn_head(data)
            except httptools.HttpParserUpgrade as offer:
                method = self._parser.get_method()
                if method == b"CONNECT":
                    return self._refuse(400, "this is no proxy")
                lines = [(name, value) for name, value in self._lines if name.lower() != "upgrade"]
                text = "".join([f"{name}: {value}\r\n" for name, value in lines])
                version = self._parser.get_http_version().encode()
                head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self._target, version, text.encode("latin-1"))
                data = head + data[offer.args[0] :]
                self._parser = httptools.HttpRequestParser(self)
                self._begin()
            else:
                return

    def _learn_head(self, data: bytes) -> None:
        """Keep a request that has come in one piece, if the next one with the same head means the same."""
        assert self._latest is not None
        (request, keeps_alive), self._latest = self._latest, None
        if keeps_alive and "expect" not in request.headers:
            head = known_head(data, request.lines, request.headers, request.memo)
            self._known = None if head is None else (request, head)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # Called by httptools.

    def on_message_begin(self) -> None:
        self._in_request = True

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        called, key = _header_name(name)
        text = value.decode("latin-1")
        self._lines.append((called, text))
        self._headers[key] = text.strip(" \t")
        # As `_count`, which is called less often.
        self._header_bytes = size = self._header_bytes + len(name) + len(value) + 4
        if size > self._most_header_bytes:
            self._count(0)

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self._most_header_bytes:
            raise _Refused(431, f"expected at most {self._limits.header_bytes} bytes of headers")

    def on_headers_complete(self) -> None:
        size = self._headers.get("content-length")
        if size is not None and int(size) > self._limits.body_bytes:
            raise _Refused(413, f"expected at most {self._limits.body_bytes} bytes")
        expects = self._headers.get("expect", "").lower() == "100-continue"
        if expects and self._current is None and not self._parser.should_upgrade():
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._limits.body_bytes:
            raise _Refused(413, f"expected at most {self._limits.body_bytes} bytes")
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.should_upgrade():
            return  # It is parsed again.
        request = HttpRequest(
            self._parser.get_method().decode("latin-1"),
            self._target.decode("latin-1"),
            self._headers,
            self._lines,
            b"".join(self._body),
            self._peer,
        )
        self._begin()
        self._completed += 1
        self._latest = (request, self._parser.should_keep_alive())
        self._waiting.append(self._latest)
        if self._current is None:
            self._next()
        elif len(self._waiting) >= _MOST_WAITING and self.transport is not None:
            self.transport.pause_reading()

    # Called by the response writer.

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def answered(self) -> None:
        """Go on with the next request, or close."""
        self._current = None
        if not self._keep_alive:
            if self.transport is not None:
                self.transport.close()
            return
        if self._waiting:
            if self.transport is not None:
                self.transport.resume_reading()
            # Not directly: a chain of pipelined requests must not become a chain of stack frames.
            self._loop.call_soon(self._next)
        else:
            self._is_timed = self._in_request
            self._expect(self._limits.header_s if self._in_request else self._limits.idle_s)

    def abort(self, reset: bool) -> None:
        transport = self.transport
        if transport is None:
            return
        if not reset:
            transport.close()
            return
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        transport.abort()

    async def drained(self) -> None:
        if self._paused and self.transport is not None:
            if self._writable is None:
                self._writable = self._loop.create_future()
            # Shielded, because several tasks may wait for the same future.
            await asyncio.shield(self._writable)

    def _next(self) -> None:
        if self._current is not None or not self._waiting or self.transport is None:
            return
        request, self._keep_alive = self._waiting.popleft()
        self._handle(request)

    def _handle(self, request: HttpRequest) -> None:
        self._due_s = None
        self._current = answer = ResponseWriter(self)
        self._handler(request, answer)

    def _expect(self, within_s: float) -> None:
        """Set the time within which data must arrive."""
        self._due_s = due_s = self._loop.time() + within_s
        # A timer that fires too early is set again, which is cheaper than a new one for each request.
        if self._timer is None or self._timer.when() > due_s:
            self._set_timer(due_s)

    def _set_timer(self, at_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at_s, self._timer_due)

    def _timer_due(self) -> None:
        self._timer = None
        # None: a response is due, and the client may wait for it without limit.
        if self._due_s is not None:
            if self._loop.time() < self._due_s:
                self._set_timer(self._due_s)
            else:
                self._time_out()

    def _time_out(self) -> None:
        if self._in_request:
            self._refuse(408, "the request did not come in time")
        elif self.transport is not None:
            self.transport.close()

    def _refuse(self, status: int, why: str) -> None:
        transport = self.transport
        if transport is None or self._current is not None:
            self.abort(reset=False)
            return
        body = why.encode("utf-8", "replace")
        head = (("content-type", "text/plain; charset=utf-8"), ("connection", "close"))
        self.write(head_of(status, head, f"content-length: {len(body)}") + body)
        self._due_s = None
        if not transport.is_closing():
            if transport.can_write_eof():  # Not with TLS.
                transport.write_eof()
            transport.set_protocol(_RestReader(self, transport))


class _RestReader(asyncio.Protocol):
    """Reads and discards what a refused client still sends. Closing with unread data would reset the
    connection, and the client might lose the response (RFC 9112 §9.6)."""

    def __init__(self, connection: _Connection, transport: asyncio.Transport) -> None:
        self._connection = connection
        self._transport = transport
        self._bytes = 0
        self._timer = asyncio.get_running_loop().call_later(_REST_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > _MOST_REST_BYTES:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._connection.connection_lost(exc)


class _Refused(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Sizes and times that a request must keep."""

    header_bytes: int = MOST_HEADER_BYTES
    body_bytes: int = MOST_BODY_BYTES
    header_s: float = HEADER_TIME_S
    idle_s: float = IDLE_S


class HttpServer:
    """A listening socket whose requests go to a handler."""

    def __init__(self, handler: Handler, limits: RequestLimits | None = None) -> None:
        self._handler = handler
        self._limits = limits or RequestLimits()
        self._connections: set[_Connection] = set()
        self._listener: Listener | None = None
        self._sockets: list[socket.socket] = []

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> tuple[str, int]:
        """Listen and return the bound address. Raises OSError if that fails. `tls`: None for clear text."""
        loop = asyncio.get_running_loop()
        # It binds a socket for each address of the host, but does not accept.
        bound = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
        self._sockets = [socket.socket(fileno=os.dup(each.fileno())) for each in bound.sockets]
        bound.close()
        self._listener = Listener(
            self._sockets,
            lambda: _Connection(self._handler, self._connections, self._limits),
            tls=tls,
        )
        self._listener.start(_BACKLOG)
        name = self._sockets[0].getsockname()
        return name[0], name[1]

    @property
    def connection_count(self) -> int:
        """Number of connected clients."""
        return len(self._connections)

    async def stop(self) -> None:
        """Stop listening and abort every open connection."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for sock in self._sockets:
            sock.close()
        for connection in tuple(self._connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)  # An aborted transport calls its protocol in the next turn of the loop.
