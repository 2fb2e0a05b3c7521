"""A request and the writer of its response, which can be cut, dripped, reset or left open.

Responses are framed by Content-Length or by chunked transfer coding (RFC 9112 §6.2 and §7.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias

Headers: TypeAlias = list[tuple[str, str]]

_READ_BYTES = 64 << 10


def read_in_small_pieces(transport: asyncio.Transport) -> None:
    """Let a transport read 64 KiB at a time.

    asyncio reads 256 KiB, and allocates that much for each read: so large a block is mapped and unmapped by
    the kernel, for a message of some hundred bytes."""
    if hasattr(transport, "max_size"):
        transport.max_size = _READ_BYTES


@dataclass(slots=True)
class HttpRequest:
    """A request with its complete body."""

    method: str
    target: str
    """Path and query as sent."""
    headers: dict[str, str]
    """Values by lower-case name; of repeated names the last."""
    lines: Headers
    """Header lines as received."""
    body: bytes
    peer: str
    memo: dict[object, Any] = field(default_factory=dict)
    """What a handler keeps for the next requests of this connection whose head has the same bytes, but for
    Content-Length. They may share headers and lines too, which are not changed."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Connection(Protocol):
    """What a response needs of its connection."""

    transport: asyncio.Transport | None

    def write(self, data: bytes) -> None: ...

    def answered(self) -> None:
        """Go on with the next request, or close."""

    def abort(self, reset: bool) -> None: ...

    async def drained(self) -> None: ...


class ResponseWriter:
    """Writes the response to one request. Every method is safe to call after the client has disconnected."""

    __slots__ = ("_connection", "_on_disconnect", "began", "ended", "extra_headers")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._on_disconnect: list[Callable[[], object]] = []
        self.extra_headers: Headers = []
        """Headers that are added to those of the response."""
        self.began = False
        self.ended = False

    @property
    def is_open(self) -> bool:
        """True while the response has not ended and the client is connected."""
        return not self.ended and self._connection.transport is not None

    def on_disconnect(self, callback: Callable[[], object]) -> None:
        """Call back once if the client disconnects before the response has ended."""
        if self._connection.transport is None and not self.ended:
            callback()
        else:
            self._on_disconnect.append(callback)

    def respond(self, status: int, headers: Iterable[tuple[str, str]] = (), body: bytes = b"") -> None:
        """Send a complete response."""
        if self.began or self.ended:
            return
        self.began = True
        self._connection.write(self._head(status, headers, f"content-length: {len(body)}") + body)
        self._end()

    def respond_prepared(self, head: bytes, body: bytes) -> None:
        """Send a complete response; `head` is ready but for its length."""
        if not self.began and not self.ended:
            self.began = True
            self._connection.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
            self._end()

    def begin(self, status: int, headers: Iterable[tuple[str, str]] = (), first: bytes = b"") -> None:
        """Start a chunked response (RFC 9112 §7.1); `first` goes out together with the head."""
        if not self.began and not self.ended:
            self.began = True
            self._connection.write(self._head(status, headers, "transfer-encoding: chunked") + _chunk(first))

    def write(self, data: bytes) -> None:
        """Send one chunk of a chunked response."""
        if data and not self.ended:
            self._connection.write(_chunk(data))

    def end(self) -> None:
        """End a chunked response."""
        if not self.ended:
            self._connection.write(b"0\r\n\r\n")
            self._end()

    def begin_sized(
        self, status: int, headers: Iterable[tuple[str, str]], size: int, first: bytes = b""
    ) -> None:
        """Start a response of `size` bytes, of which `write_sized` may send fewer."""
        if not self.began and not self.ended:
            self.began = True
            self._connection.write(self._head(status, headers, f"content-length: {size}") + first)

    def write_sized(self, data: bytes) -> None:
        """Send a part of a response whose length is known."""
        if not self.ended:
            self._connection.write(data)

    def end_sized(self) -> None:
        """End a response whose length is known."""
        if not self.ended:
            self._end()

    def respond_without_body(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send a response without a body, whatever its headers say: to HEAD, 204 or 304 (RFC 9112 §6.3, rule
        1)."""
        if not self.began and not self.ended:
            self.began = True
            self._connection.write(self._head(status, headers, ""))
            self._end()

    def abort(self, reset: bool = False) -> None:
        """End the connection in the middle of the response: by FIN, or by RST."""
        if not self.ended:
            self.ended = True
            self._connection.abort(reset)

    @property
    def unread_bytes(self) -> int:
        """Bytes written that have not been sent."""
        transport = self._connection.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        await self._connection.drained()

    def _head(self, status: int, headers: Iterable[tuple[str, str]], framing: str) -> bytes:
        return head_of(status, (*headers, *self.extra_headers) if self.extra_headers else headers, framing)

    def _end(self) -> None:
        self.ended = True
        self._on_disconnect.clear()
        self._connection.answered()

    def client_disconnected(self) -> None:
        """Call the callbacks of `on_disconnect`, unless the response has ended."""
        if not self.ended:
            callbacks, self._on_disconnect = self._on_disconnect, []
            for callback in callbacks:
                callback()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def head_of(status: int, headers: Iterable[tuple[str, str]], framing: str) -> bytes:
    """Return status line and header lines. `framing` is one more line, unless empty."""
    return prepared_head(status, headers) + (f"{framing}\r\n\r\n" if framing else "\r\n").encode("latin-1")


def prepared_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return status line and header lines, to which more lines can be added."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    return f"HTTP/1.1 {status} {_PHRASES.get(status, 'Unknown')}\r\n{lines}".encode("latin-1", "replace")


_PHRASES = {status.value: status.phrase for status in HTTPStatus}
