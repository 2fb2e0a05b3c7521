"""Where messages begin and end in a stream of bytes, without changing or keeping any.

A framer is fed chunks and gives pieces in order; the raw bytes of all pieces, joined, are exactly
what was fed. Bodies stream. Only a head or a chunk-size line that is not complete yet is kept.

What cannot be framed safely makes a framer opaque for good: `opaque_reason` says why, and all further
bytes come out as `Opaque`. What that means for a connection is decided by its exchange.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.proxy.http.body import ABSENT, CHUNKED
from faultkit.proxy.http.chunks import Chunks
from faultkit.proxy.http.heads import REQUEST_LINE, STATUS_LINE, TOKEN, RequestHead, ResponseHead
from faultkit.proxy.http.parsing import read_request_head, read_response_head

MAX_HEAD_BYTES = 65536
_HEAD_TOO_LONG = f"header section over {MAX_HEAD_BYTES} bytes"
_PARTIAL_LINE_BYTES = 256
"""Up to here an unfinished start line is checked as it grows, so that other protocols are not held up."""

_PARTIAL_REQUEST_LINE = re.compile(TOKEN + rb"{1,32}(?: [^\x00-\x20\x7f]*(?: [HTP/1.0]{0,8}\r?)?)?")
_BARE_LF = re.compile(rb"(?<!\r)\n")


@dataclass(frozen=True, slots=True)
class Blank:
    """Empty lines before a head."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """A part of a body, with chunk sizes and trailers as they came."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The message that began with the last final head is complete."""

    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Bytes that are not, or not safely, HTTP/1.1."""

    raw: bytes


Piece: TypeAlias = Blank | RequestHead | ResponseHead | Body | End | Opaque

END = End()


class _Framer:
    """What requests and responses share: buffering, heads as bytes, bodies."""

    __slots__ = ("_buffer", "_chunks", "_left", "_line_checked", "_pos", "_scanned", "_step", "opaque_reason")

    def __init__(self) -> None:
        self._buffer = b""
        self._pos = 0
        self._scanned = 0
        self._line_checked = False
        self._left = 0
        self._chunks = Chunks()
        # A plain function, not a bound method: that would be a reference cycle per connection.
        self._step: Callable[[Any], Piece | None] = type(self)._head
        self.opaque_reason: str | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes in; `next_piece` gives them back."""
        kept = self._buffer[self._pos :]
        self._buffer = kept + data if kept else data
        self._pos = 0

    def next_piece(self) -> Piece | None:
        """The next piece, or None where more bytes are needed."""
        return self._step(self)

    def take_rest(self) -> bytes:
        """The bytes that no piece has covered yet. The framer stays where it is in the message."""
        rest = self._buffer[self._pos :]
        self._buffer = b""
        self._pos = self._scanned = 0
        self._line_checked = False
        return rest

    def become_opaque(self, reason: str) -> None:
        """All that follows is not HTTP: the peers have agreed on something else."""
        self.opaque_reason = reason
        self._step = type(self)._opaque

    def _head(self) -> Piece | None:
        buffer, pos = self._buffer, self._pos
        if pos == len(buffer):
            return None
        if buffer.startswith(b"\r\n", pos):
            return self._blank()
        end = buffer.find(b"\r\n\r\n", pos + self._scanned) + 4
        if end < 4:
            return self._partial_head()
        if end - pos > MAX_HEAD_BYTES:
            return self._fail(_HEAD_TOO_LONG)
        try:
            piece = self._begin(buffer[pos:end])
        except ValueError as problem:
            return self._fail(str(problem))
        self._pos = end
        self._scanned = 0
        self._line_checked = False
        return piece

    def _blank(self) -> Piece:
        start = end = self._pos
        while self._buffer.startswith(b"\r\n", end):
            end += 2
        self._pos = end
        return Blank(self._buffer[start:end])

    def _partial_head(self) -> Piece | None:
        buffer, pos = self._buffer, self._pos
        there = len(buffer) - pos
        if there == 0 or (there == 1 and buffer[pos:] == b"\r"):
            return None
        if there > MAX_HEAD_BYTES:
            return self._fail(_HEAD_TOO_LONG)
        if _BARE_LF.search(buffer, pos + self._scanned):
            return self._fail("bare CR or LF in a head")
        if not self._line_checked:
            self._line_checked = buffer.find(b"\r\n", pos) >= 0
            if self._line_checked:
                problem = self._line_problem(buffer[pos:])
            else:
                problem = self._partial_line_problem(buffer[pos:]) if there <= _PARTIAL_LINE_BYTES else None
            if problem is not None:
                return self._fail(problem)
        # Three bytes back, since the end of the head may have begun already.
        self._scanned = max(0, there - 3)
        return None

    def _begin(self, raw: bytes) -> Piece:
        """Parse a head and get ready for the body it announces."""
        raise NotImplementedError

    def _line_problem(self, part: bytes) -> str | None:
        raise NotImplementedError

    def _partial_line_problem(self, part: bytes) -> str | None:
        raise NotImplementedError

    def _expect_body(self, length: int) -> None:
        if length >= 0:
            self._left = length
            self._step = _Framer._sized
        elif length == CHUNKED:
            self._chunks = Chunks()
            self._step = _Framer._chunked
        else:
            self._step = _Framer._until_close

    def _end(self) -> Piece:
        self._step = type(self)._head
        return END

    def _sized(self) -> Piece | None:
        left = self._left
        if left == 0:
            return self._end()
        buffer, pos = self._buffer, self._pos
        there = len(buffer) - pos
        if there == 0:
            return None
        if there <= left:
            self._left = left - there
            self._pos = len(buffer)
            return Body(buffer[pos:] if pos else buffer)
        self._left = 0
        self._pos = pos + left
        return Body(buffer[pos : pos + left])

    def _until_close(self) -> Piece | None:
        rest = self.take_rest()
        return Body(rest) if rest else None

    def _opaque(self) -> Piece | None:
        rest = self.take_rest()
        return Opaque(rest) if rest else None

    def _fail(self, reason: str) -> Piece | None:
        self.become_opaque(reason)
        return self._opaque()

    def _chunked(self) -> Piece | None:
        start = self._pos
        pos = self._pos = self._chunks.walk(self._buffer, start)
        if self._chunks.problem is not None:
            self.become_opaque(self._chunks.problem)
        elif self._chunks.ended:
            self._step = type(self)._end
        elif pos == start:
            return None
        return Body(self._buffer[start:pos]) if pos > start else self._step(self)


class RequestFramer(_Framer):
    """Frames what a client sends.

    After a head that `may_switch`, the answer decides whether HTTP goes on: stop asking for pieces at
    its End, and call `become_opaque` if the peers have switched.
    """

    __slots__ = ()

    def _begin(self, raw: bytes) -> Piece:
        head = read_request_head(raw)
        if head.length == ABSENT:
            self._step = RequestFramer._end
        else:
            self._expect_body(head.length)
        return head

    def _line_problem(self, part: bytes) -> str | None:
        if REQUEST_LINE.match(part):
            return None
        if part.startswith(b"PRI * HTTP/2.0\r\n"):
            return "HTTP/2"
        return "not an HTTP/1 request line"

    def _partial_line_problem(self, part: bytes) -> str | None:
        return None if _PARTIAL_REQUEST_LINE.fullmatch(part) else "not an HTTP/1 request line"


class ResponseFramer(_Framer):
    """Frames what an upstream sends. It must be told of every request: some answers have no body."""

    __slots__ = ("_methods",)

    def __init__(self) -> None:
        super().__init__()
        self._methods: deque[str] = deque()

    def expect(self, method: str) -> None:
        """A request with this method goes to the upstream."""
        self._methods.append(method)

    @property
    def ends_by_close(self) -> bool:
        """The body under way ends where the stream ends."""
        return self._step is _Framer._until_close

    def _head(self) -> Piece | None:
        if self._methods:
            return super()._head()
        rest = self._buffer[self._pos :]
        if rest in (b"", b"\r"):
            return None
        return self._blank() if rest.startswith(b"\r\n") else self._fail("a response without a request")

    def _end(self) -> Piece:
        self._methods.popleft()
        self._step = type(self)._head
        return END

    def _begin(self, raw: bytes) -> Piece:
        head = read_response_head(raw)
        status = head.status
        if status < 200:
            if status == 101:
                self.become_opaque("upgraded to another protocol")
            return head
        method = self._methods[0]
        if method == "HEAD" or status == 204 or status == 304:
            self._step = ResponseFramer._end
        elif method == "CONNECT" and status < 300:
            self.become_opaque("CONNECT tunnel")
        elif head.problem is not None:
            raise ValueError(head.problem)
        else:
            self._expect_body(head.length)
        return head

    def _line_problem(self, part: bytes) -> str | None:
        return None if STATUS_LINE.match(part) else "not an HTTP/1 status line"

    def _partial_line_problem(self, part: bytes) -> str | None:
        return None if part[:7] == b"HTTP/1."[: len(part)] else "not an HTTP/1 status line"
