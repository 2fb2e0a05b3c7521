"""Message framing (RFC 9112): where messages begin and end in a stream of bytes, without changing any.

A framer is fed bytes and returns pieces in order; the raw bytes of all pieces, joined, are exactly what was
fed. Bodies are streamed. Only a head or a chunk-size line that is not complete yet is kept.

Bytes that cannot be framed safely make a framer opaque for good: `opaque_reason` is set, and all further
bytes come out as `Opaque`. The exchange decides what that means for the connection.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.proxy.http.heads import (
    ABSENT,
    CHUNKED,
    HTTP_2,
    HTTP_2_PREFACE,
    REQUEST_LINE,
    STATUS_LINE,
    TLS,
    TOKEN,
    RequestHead,
    ResponseHead,
    read_request_head,
    read_response_head,
)

MAX_HEAD_BYTES = 65536
_HEAD_TOO_LONG = f"header section over {MAX_HEAD_BYTES} bytes"
_PARTIAL_LINE_BYTES = 256
"""Up to this length an unfinished start line is checked as it grows, so that other protocols are not held
up."""

_PARTIAL_REQUEST_LINE = re.compile(TOKEN + rb"{1,32}(?: [^\x00-\x20\x7f]*(?: [HTP/1.0]{0,8}\r?)?)?")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_TLS_BEGINS = (b"\x16", b"\x16\x03")
"""The first bytes of a TLS handshake (RFC 8446 §5.1)."""


@dataclass(frozen=True, slots=True)
class Blank:
    """Empty lines before a head, which a server should ignore (RFC 9112 §2.2)."""

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
    """What requests and responses share: buffering, finding heads, walking bodies.

    `_step` is the state: the function that makes the next piece (_head, _sized, _chunked, _until_close, _end,
    _opaque)."""

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
        """Take bytes in; `next_piece` returns them as pieces."""
        kept = self._buffer[self._pos :]
        self._buffer = kept + data if kept else data
        self._pos = 0

    def next_piece(self) -> Piece | None:
        """Return the next piece, or None if more bytes are needed."""
        return self._step(self)

    def take_rest(self) -> bytes:
        """Return the bytes that no piece has covered yet. The framer keeps its place in the message."""
        rest = self._buffer[self._pos :]
        self._buffer = b""
        self._pos = self._scanned = 0
        self._line_checked = False
        return rest

    def become_opaque(self, reason: str) -> None:
        """Treat all that follows as not HTTP, for example because the peers have switched protocols."""
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
        if _BARE_LF.search(buffer, pos + self._scanned):  # RFC 9112 §2.2; see `heads._check_lines`.
            return self._fail("bare CR or LF in a head")
        if not self._line_checked:
            self._line_checked = buffer.find(b"\r\n", pos) >= 0
            if self._line_checked:
                problem = self._line_problem(buffer[pos:])
            else:
                problem = self._partial_line_problem(buffer[pos:]) if there <= _PARTIAL_LINE_BYTES else None
            if problem is not None:
                return self._fail(problem)
        # Three bytes back, because the end of the head (CRLF CRLF) may have begun already.
        self._scanned = max(0, there - 3)
        return None

    def _begin(self, raw: bytes) -> Piece:
        """Parse a head and choose the step for the body that it announces (RFC 9112 §6.3)."""
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

    After a head that `may_switch`, the response decides whether HTTP continues: stop asking for pieces at its
    End, and call `become_opaque` if the peers have switched.
    """

    __slots__ = ()

    def whole(self, data: bytes) -> RequestHead | None:
        """Return the head if `data` is one request, not begun before and with nothing behind it, whose body
        is not chunked: then the framer need not be fed. None: feed it."""
        if self._pos != len(self._buffer) or self._step is not RequestFramer._head:
            return None
        size, end = len(data), data.find(b"\r\n\r\n") + 4
        if end < 4 or end > MAX_HEAD_BYTES or data.startswith(b"\r\n"):
            return None
        try:
            head = read_request_head(data if end == size else data[:end])
        except ValueError:
            return None
        if head.may_switch or end + (0 if head.length == ABSENT else head.length) != size:
            return None
        return None if head.length == CHUNKED else head

    def _begin(self, raw: bytes) -> Piece:
        head = read_request_head(raw)
        if head.length == ABSENT:
            self._step = RequestFramer._end
        else:
            self._expect_body(head.length)
        return head

    def _fail(self, reason: str) -> Piece | None:
        # The random bytes of a handshake may look like any mistake.
        is_tls = self._buffer[self._pos : self._pos + 2] in _TLS_BEGINS
        return super()._fail(TLS if is_tls else reason)

    def _line_problem(self, part: bytes) -> str | None:
        if REQUEST_LINE.match(part):
            return None
        if part.startswith(HTTP_2_PREFACE):
            return HTTP_2
        return "not an HTTP/1 request line"

    def _partial_line_problem(self, part: bytes) -> str | None:
        if _PARTIAL_REQUEST_LINE.fullmatch(part) or HTTP_2_PREFACE.startswith(part):
            return None
        return "not an HTTP/1 request line"


class ResponseFramer(_Framer):
    """Frames what an upstream sends. Call `expect` for every request: its method decides whether there is a
    body."""

    __slots__ = ("_methods",)

    def __init__(self) -> None:
        super().__init__()
        self._methods: deque[str] = deque()

    def expect(self, method: str) -> None:
        """Add a request with this method to those whose responses are expected."""
        self._methods.append(method)

    @property
    def ends_by_close(self) -> bool:
        """Whether the present body ends where the stream ends (RFC 9112 §6.3, rule 8)."""
        return self._step is _Framer._until_close

    @property
    def is_between_chunks(self) -> bool:
        """Whether nothing is kept, and the size of a chunk comes next."""
        return self._pos == len(self._buffer) and self._step is _Framer._chunked and self._chunks.is_between

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

    def take_whole(self, data: bytes) -> bool:
        """Take `data` if it is one final response, not begun before and with nothing behind it, and return
        True: then the framer need not be fed. False: feed it."""
        methods = self._methods
        if not methods or self._pos != len(self._buffer) or self._step is not ResponseFramer._head:
            return False
        end = data.find(b"\r\n\r\n") + 4
        if end < 4 or end > MAX_HEAD_BYTES or data.startswith(b"\r\n"):
            return False
        try:
            head = read_response_head(data[:end])
        except ValueError:
            return False
        status, length, method = head.status, head.length, methods[0]
        if status < 200 or method == "CONNECT":
            return False
        if method == "HEAD" or status == 204 or status == 304:  # As in `_begin`.
            length = 0
        if length == CHUNKED:
            chunks = Chunks()
            is_whole = chunks.walk(data, end) == len(data) and chunks.ended
        else:
            is_whole = length >= 0 and end + length == len(data)
        if is_whole:
            methods.popleft()
        return is_whole

    def _begin(self, raw: bytes) -> Piece:
        head = read_response_head(raw)
        status = head.status
        if status < 200:
            if status == 101:
                self.become_opaque("upgraded to another protocol")
            return head
        method = self._methods[0]
        # RFC 9112 §6.3, rule 1: these have no body, whatever their header fields are.
        if method == "HEAD" or status == 204 or status == 304:
            self._step = ResponseFramer._end
        # Rule 2: a successful response to CONNECT turns the connection into a tunnel.
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


MAX_TRAILER_BYTES = 65536
_MAX_SIZE_LINE_BYTES = 4096
# RFC 9112 §7.1: chunk-size [ chunk-ext ] CRLF. 15 digits cannot overflow; §7.1.1: extensions are ignored.
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_PLAIN_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
_PARTIAL_SIZE_LINE = re.compile(rb"[0-9A-Fa-f]{1,15}[ \t]*(?:;[^\r\n]*)?\r?")


def chunk_contents(data: bytes) -> list[bytes] | None:
    """Return the contents of chunks that are all there, without extensions and without the last one; None for
    any other bytes."""
    pos, end = 0, len(data)
    parts: list[bytes] = []
    while pos < end:
        line = _PLAIN_SIZE_LINE.match(data, pos)
        if line is None:
            return None
        start = line.end()
        pos = start + int(line[1], 16)
        if pos == start or data[pos : pos + 2] != b"\r\n":
            return None
        parts.append(data[start:pos])
        pos += 2
    return parts


class Chunks:
    """The extent of one chunked body (RFC 9112 §7.1): sizes, extensions and trailers, however the stream is
    cut.

    It only counts; the bytes stay with the framer, unless it `collects` the content too. A size line, the
    CRLF after a chunk and a trailer line are passed over as a whole, so that a bad one is refused before any
    of it has passed."""

    __slots__ = ("_content", "_in_trailers", "_left", "_trailer_bytes", "ended", "problem", "trailers")

    def __init__(self, *, collects: bool = False) -> None:
        self._content: list[bytes] | None = [] if collects else None
        self.trailers = b""
        """The trailer lines, if it collects."""
        self._left = 0
        """What remains of the present chunk, with the CRLF after it."""
        self._in_trailers = False
        self._trailer_bytes = 0
        self.ended = False
        self.problem: str | None = None

    def walk(self, buffer: bytes, pos: int) -> int:
        """Return the position up to which `buffer` is this body, and set `ended` or `problem`."""
        end = len(buffer)
        while not self._in_trailers:
            if self._left > 2:
                step = min(self._left - 2, end - pos)
                if self._content is not None:
                    self._content.append(buffer[pos : pos + step])
                pos += step
                self._left -= step
            if self._left:
                if not self._crlf(buffer, pos):
                    return pos
                pos += 2
                self._left = 0
            line = _SIZE_LINE.match(buffer, pos)
            if line is None:
                partial = pos == end or _PARTIAL_SIZE_LINE.fullmatch(buffer, pos)
                if not partial or end - pos > _MAX_SIZE_LINE_BYTES:
                    self.problem = "bad chunk size"
                return pos
            pos = line.end()
            size = int(line[1], 16)
            self._left = size + 2 if size else 0
            self._in_trailers = size == 0  # §7.1: last-chunk; §7.1.2: trailer fields follow.
        return self._walk_trailers(buffer, pos)

    @property
    def is_between(self) -> bool:
        """Whether the size of a chunk comes next."""
        return not self._left and not self._in_trailers and self.problem is None

    def take_content(self) -> bytes:
        """Return the content that was walked over since the last call."""
        content = b"".join(self._content or ())
        self._content = []
        return content

    def _crlf(self, buffer: bytes, pos: int) -> bool:
        found = buffer[pos : pos + 2]
        if found not in (b"", b"\r", b"\r\n"):
            self.problem = "a chunk does not end where its size says"
        return found == b"\r\n"

    def _walk_trailers(self, buffer: bytes, pos: int) -> int:
        while not self.ended:
            eol = buffer.find(b"\r\n", pos)
            line = buffer[pos:eol] if eol >= 0 else buffer[pos:]
            if b"\n" in line or b"\r" in (line if eol >= 0 else line[:-1]):
                self.problem = "bare CR or LF in a trailer"
            elif self._trailer_bytes + len(line) > MAX_TRAILER_BYTES:
                self.problem = f"trailer section over {MAX_TRAILER_BYTES} bytes"
            if eol < 0 or self.problem is not None:
                break
            pos = eol + 2
            self._trailer_bytes += len(line) + 2
            if self._content is not None and line:
                self.trailers += line + b"\r\n"
            self.ended = not line
        return pos
