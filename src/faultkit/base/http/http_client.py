"""An HTTP/1.1 client that yields a response as it arrives and reports how a connection was lost.

Connections are reused. A request that may have been received is never sent again: POST is not idempotent
(RFC 9110 §9.2.2).
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import httptools

from faultkit.base.address import Verify
from faultkit.base.certificates import client_context
from faultkit.base.http.http_exchange import Headers, read_in_small_pieces
from faultkit.base.http.http_url import HttpUrl, parse_url
from faultkit.base.http.known_head import KnownHead, known_head

if TYPE_CHECKING:
    from faultkit.base.http.http_proxy import HttpProxy

CONNECT_S = 10.0
_MOST_KEPT = 64
_KEPT_S = 4.0
"""Seconds for which an idle connection is kept. Servers commonly close one after five."""
_HIGH_WATER = 1 << 20
"""Bytes of a response that may be buffered before reading pauses."""


class ConnectionLost(Exception):
    """The connection ended before the response did."""

    def __init__(self, why: str, *, reset: bool = False, began: bool = False) -> None:
        super().__init__(why)
        self.reset = reset
        """True if it ended by RST instead of FIN."""
        self.began = began
        """True if part of the response had arrived."""


class HttpReply:
    """A response whose head has arrived."""

    __slots__ = ("_connection", "headers", "lines", "memo", "status")

    def __init__(
        self,
        connection: _Connection,
        status: int,
        lines: Headers,
        headers: dict[str, str],
        memo: dict[object, Any],
    ) -> None:
        self._connection = connection
        self.status = status
        self.lines = lines
        self.headers = headers
        self.memo = memo
        """What the receiver keeps for the next responses of this connection with the same head, but for
        Content-Length."""

    @property
    def is_stream(self) -> bool:
        """True for a stream of server-sent events."""
        kind = self.headers.get("content-type", "").partition(";")[0]
        return kind.strip().lower() == "text/event-stream"

    async def chunk(self) -> bytes:
        """Return the next part of the body; empty at its end. Raises ConnectionLost."""
        return await self._connection.chunk()

    def ready(self) -> bytes:
        """Return a part that has arrived already; empty if none has."""
        return self._connection.ready()

    def whole(self) -> bytes | None:
        """Return the rest of the body if all of it has arrived; None otherwise."""
        return self._connection.whole()

    def on_more(self, callback: Callable[[bytes | ConnectionLost | None], None]) -> None:
        """Call back with each part that arrives, in the turn of the event loop that reads it; with None at
        the end, with ConnectionLost where that does not come. Instead of `chunk`, for a response of which
        something is still to arrive."""
        self._connection.on_more(callback)

    async def body(self, most: int) -> bytes:
        """Return the whole body. Raises ConnectionLost, also for more than `most` bytes."""
        parts: list[bytes] = []
        size = 0
        while part := await self.chunk():
            size += len(part)
            if size > most:
                self.close()
                raise ConnectionLost(f"an answer of more than {most} bytes", began=True)
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Discard the rest of the response. May be called at any time."""
        self._connection.release()


class HttpClient:
    """A client of one origin, with a pool of connections."""

    def __init__(
        self,
        url: str,
        *,
        verify: Verify = True,
        proxy_for: Callable[[HttpUrl], HttpProxy | None] = lambda url: None,
        most_kept: int = _MOST_KEPT,
        connect_s: float = CONNECT_S,
    ) -> None:
        """Raises InputError if the URL is not an HTTP URL.

        proxy_for: returns the proxy to connect through, or None
        most_kept: idle connections that are kept for the next requests
        connect_s: seconds that a connection may take to open"""
        self.address = parse_url(url)
        self._proxy = proxy_for(self.address)
        self._most_kept = most_kept
        self._connect_s = connect_s
        self.host, self.port, self.target = self.address.host, self.address.port, self.address.target
        self._tls: ssl.SSLContext | None = None
        if self.address.scheme == "https":
            self._tls = client_context(verify)
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()

    async def request(
        self, method: str, headers: Iterable[tuple[str, str]], body: bytes, target: str | None = None
    ) -> HttpReply:
        """Send a request and return when the head of its response has arrived.

        Raises ConnectionLost; OSError or TimeoutError if the server cannot be reached."""
        raw = self._raw(method, headers, body, target)
        connection = self._kept() or await self._connect()
        self._busy.add(connection)
        try:
            return await connection.ask(raw, is_head=method == "HEAD")
        except BaseException:
            connection.release()
            raise

    def start(
        self,
        head: bytes,
        body: bytes,
        on_reply: Callable[[HttpReply | ConnectionLost], None],
    ) -> Callable[[], None] | None:
        """Send a POST request at once on a kept connection; None if there is no such connection, and nothing
        was sent.

        `head`: what `head_of` has returned. `on_reply` is called once, when the head of the response has
        arrived or the connection was lost, in the turn of the event loop that reads it. The result gives the
        request up."""
        connection = self._kept()
        if connection is None:
            return None
        self._busy.add(connection)
        connection.start(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body), on_reply)
        return connection.release

    def _raw(self, method: str, headers: Iterable[tuple[str, str]], body: bytes, target: str | None) -> bytes:
        head = self.head_of(method, headers, target)
        if body or method in ("POST", "PUT", "PATCH"):
            return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)
        return head + b"\r\n"

    def head_of(self, method: str, headers: Iterable[tuple[str, str]], target: str | None) -> bytes:
        """Return the head of a request, but for its length."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        asked = target or self.target
        if self._proxy is not None and self._tls is None:
            # RFC 9112 §3.2.2: a proxy is asked for the whole URL.
            asked = f"http://{self.address.authority}{asked}"
            if self._proxy.authorization:
                lines += f"proxy-authorization: {self._proxy.authorization}\r\n"
        head = f"{method} {asked} HTTP/1.1\r\nhost: {self.address.authority}\r\n{lines}"
        return head.encode("latin-1", "replace")

    def _kept(self) -> _Connection | None:
        """Take a kept connection that can be used again."""
        while self._idle:
            kept = self._idle.pop()
            if kept.is_fresh:
                return kept
            kept.drop()
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        name = self.host if self._tls is not None else None
        async with asyncio.timeout(self._connect_s):
            if self._proxy is not None and self._tls is not None:
                from faultkit.base.http.http_proxy import open_tunnel

                tunnel = await open_tunnel(self._proxy, self.address)
                _, connection = await loop.create_connection(
                    lambda: _Connection(self), sock=tunnel, ssl=self._tls, server_hostname=name
                )
                return connection
            host, port = (
                (self.host, self.port) if self._proxy is None else (self._proxy.host, self._proxy.port)
            )
            _, connection = await loop.create_connection(
                lambda: _Connection(self), host, port, ssl=self._tls, server_hostname=name
            )
        return connection

    def done(self, connection: _Connection) -> None:
        """Take back a connection: keep it for the next request, or drop it."""
        self._busy.discard(connection)
        if connection.is_open and len(self._idle) < self._most_kept:
            self._idle.append(connection)
        else:
            connection.drop()

    def close(self) -> None:
        """Close every connection."""
        for connection in (*self._idle, *self._busy):
            connection.drop()
        self._idle.clear()
        self._busy.clear()


class _Connection(asyncio.Protocol):
    """One connection of the pool; it is the protocol object of httptools too."""

    def __init__(self, pool: HttpClient) -> None:
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._parts: deque[bytes] = deque()
        self._held = 0
        self._waiter: asyncio.Future[None] | None = None
        self._lost: ConnectionLost | None = None
        self._asked = self._complete = self._has_head = self._keep = False
        self._lines: Headers = []
        self._is_head = False
        self._parser: httptools.HttpResponseParser | None = None
        """The parser of the present response; None before its first bytes."""
        self._reply: HttpReply | None = None
        """The present response, once its head has arrived."""
        self._known: tuple[int, KnownHead] | None = None
        """The status and head of a response that were parsed, and are not parsed again when the same bytes
        come."""
        self._idle_since = 0.0
        self._on_reply: Callable[[HttpReply | ConnectionLost], None] | None = None
        self._on_more: Callable[[bytes | ConnectionLost | None], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._watch = select.poll()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._lost is None

    @property
    def is_fresh(self) -> bool:
        """True if the connection can be reused, checked before sending because a request is never
        repeated."""
        if not self.is_open or self._loop.time() - self._idle_since > _KEPT_S:
            return False
        # Readable while idle means closed by the server, or unsolicited bytes.
        return not self._watch.poll(0)

    # Called by the client.

    async def ask(self, raw: bytes, *, is_head: bool) -> HttpReply:
        self._send(raw, is_head)
        while not self._has_head:
            if self._lost is not None:
                raise self._lost
            await self._wait()
        return self._its_reply()

    def start(self, raw: bytes, on_reply: Callable[[HttpReply | ConnectionLost], None]) -> None:
        self._on_reply = on_reply
        self._send(raw, False)

    def _its_reply(self) -> HttpReply:
        if self._reply is None:
            assert self._parser is not None
            headers = {name.lower(): value for name, value in self._lines}
            self._reply = HttpReply(self, self._parser.get_status_code(), self._lines, headers, {})
        return self._reply

    def _send(self, raw: bytes, is_head: bool) -> None:
        assert self._transport is not None
        self._parser = self._reply = None
        self._lines = []
        self._asked, self._complete, self._has_head, self._keep = True, False, False, False
        self._is_head = is_head
        self._transport.write(raw)

    async def chunk(self) -> bytes:
        while not self._parts:
            if self._complete:
                self._release()
                return b""
            if self._lost is not None:
                raise self._lost
            await self._wait()
        return self.ready()

    def ready(self) -> bytes:
        if not self._parts:
            return b""
        part = self._parts.popleft()
        self._held -= len(part)
        if self._held < _HIGH_WATER and self._transport is not None:
            self._transport.resume_reading()
        return part

    def whole(self) -> bytes | None:
        if not self._complete:
            return None
        parts, self._held = self._parts, 0
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        if self._transport is not None:
            self._transport.resume_reading()
        return body

    def on_more(self, callback: Callable[[bytes | ConnectionLost | None], None]) -> None:
        self._on_more = callback

    def release(self) -> None:
        self._on_reply = self._on_more = None
        if self._asked and not self._complete:
            self._lost = self._lost or ConnectionLost("the response was discarded", began=True)
            self.drop()
        self._release()

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _release(self) -> None:
        if self._asked:
            self._asked = False
            self._parts.clear()
            self._held = 0
            self._idle_since = self._loop.time()
            if not self._keep:
                self.drop()
            self._pool.done(self)

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._on_reply is not None and (self._has_head or self._lost is not None):
            on_reply, self._on_reply = self._on_reply, None
            if self._has_head:
                on_reply(self._its_reply())
            else:
                assert self._lost is not None
                on_reply(self._lost)
        elif self._on_more is not None:
            self._give_more(self._on_more)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _give_more(self, give: Callable[[bytes | ConnectionLost | None], None]) -> None:
        while self._on_more is not None and (part := self.ready()):
            give(part)
        if self._on_more is not None and (self._complete or self._lost is not None):
            self._on_more = None
            give(None if self._complete else self._lost)

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        read_in_small_pieces(transport)
        self._watch.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        begins = self._parser is None
        if not self._asked or (begins and self._complete):
            self.drop()
            return
        if begins and self._known is not None and self._take_known(*self._known, data):
            return
        try:
            if self._parser is None:
                self._parser = httptools.HttpResponseParser(self)
            self._parser.feed_data(data)
            if begins and self._keep and not self._is_head:
                self._learn_head(data)
        except httptools.HttpParserUpgrade:
            self._lost = ConnectionLost(
                "the response switches to a protocol that was not requested", began=True
            )
            self.drop()
        except httptools.HttpParserError as error:
            self._lost = ConnectionLost(f"this is no HTTP answer: {error}", began=True)
            self.drop()
        self._wake()

    def _take_known(self, status: int, head: KnownHead, data: bytes) -> bool:
        """Take a complete response whose head is known; return False for any other bytes."""
        taken = None if self._is_head else head.take(data)
        if taken is None:
            return False
        self._lines, headers, body = taken
        self._reply = HttpReply(self, status, self._lines, headers, head.memo)
        self._has_head = self._complete = self._keep = True
        if body:
            self._parts.append(body)
            self._held += len(body)
        self._wake()
        return True

    def _learn_head(self, data: bytes) -> None:
        """Keep the head of a response that has come in one piece, if the next one with the same head means
        the same."""
        reply = self._its_reply()
        head = known_head(data, reply.lines, reply.headers, reply.memo)
        self._known = None if head is None else (reply.status, head)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        ends_by_close = self._has_head and not self._complete and self._is_framed_by_close()
        if ends_by_close and exc is None:
            self._complete = True
        elif not self._complete:
            why = "the connection was reset" if exc is not None else "the connection was closed"
            began = self._has_head or bool(self._lines)
            self._lost = self._lost or ConnectionLost(why, reset=exc is not None, began=began)
        self._wake()

    def _is_framed_by_close(self) -> bool:
        # RFC 9112 §6.3, rule 8: a response without length and coding ends with the connection.
        names = {name.lower() for name, _ in self._lines}
        return "content-length" not in names and "transfer-encoding" not in names

    # Called by httptools.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        if 100 <= self._parser.get_status_code() < 200:
            # RFC 9110 §15.2: interim responses precede the final one.
            self._lines = []
            return
        self._has_head = True
        if self._is_head:
            self._complete = True

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        self._held += len(body)
        if self._held > _HIGH_WATER and self._transport is not None:
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._has_head:
            self._complete = True
            self._keep = self._parser.should_keep_alive()
