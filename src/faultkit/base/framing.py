"""Framing of messages on a byte stream: lines, and server-sent events of HTTP. Pure.

Lines: one JSON message each, without newlines inside (MCP 2025-11-25, Transports, stdio). Events are parsed
as the HTML standard says (section 9.2.6, "Interpreting an event stream"). Own code instead of httpx-sse,
because relays have to keep the bytes of each event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_LINE_BYTES = 64 << 20
"""Longest line that is kept. A longer one is dropped while it is read, so that it cannot fill the memory."""
_END_BYTES = 1024
"""Bytes kept of the beginning and of the end of a dropped line."""


class OversizedLine:
    """A line that was dropped because of its length."""

    __slots__ = ("head", "limit", "size", "tail")

    def __init__(self, size: int, limit: int = MOST_LINE_BYTES, head: bytes = b"", tail: bytes = b"") -> None:
        self.size = size
        self.limit = limit
        self.head = head
        """First bytes of the line, enough to find its id and method."""
        self.tail = tail
        """Last bytes of the line."""

    def __str__(self) -> str:
        return f"{self.size} bytes, above the limit of {self.limit} bytes"


class LineReader:
    """Splits a byte stream into lines, without their line ends."""

    __slots__ = ("_dropped", "_head", "_limit", "_parts", "_size", "_tail")

    def __init__(self, limit: int = MOST_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._dropped = 0
        self._head = self._tail = b""

    def feed(self, data: bytes) -> list[bytes | OversizedLine]:
        """Return the lines that end in these bytes; empty ones are left out."""
        if not self._size and not self._dropped and data.find(b"\n") == len(data) - 1 <= self._limit:
            # Fast path: a client that waits for each reply sends exactly one line per read.
            only_line = data[:-1].removesuffix(b"\r")
            return [only_line] if only_line.strip() else []
        pieces = data.split(b"\n")
        lines: list[bytes | OversizedLine] = []
        for piece in pieces[:-1]:
            self._keep(piece)
            line = self._take()
            if line is not None:
                lines.append(line)
        self._keep(pieces[-1])
        return lines

    def end(self) -> list[bytes | OversizedLine]:
        """Return the last line of a stream that ended without a newline."""
        line = self._take()
        return [] if line is None else [line]

    def _keep(self, piece: bytes) -> None:
        if self._dropped:
            self._dropped += len(piece)
            self._tail = (self._tail + piece[-_END_BYTES:])[-_END_BYTES:]
        elif self._size + len(piece) > self._limit:
            self._dropped = self._size + len(piece)
            self._head = _beginning(self._parts, piece)
            self._tail = piece[-_END_BYTES:]
            self._parts.clear()
            self._size = 0
        elif piece:
            self._parts.append(piece)
            self._size += len(piece)

    def _take(self) -> bytes | OversizedLine | None:
        """Return the line that ends here; None if it is empty."""
        if self._dropped:
            line: bytes | OversizedLine = OversizedLine(self._dropped, self._limit, self._head, self._tail)
            self._dropped, self._head, self._tail = 0, b"", b""
            return line
        kept = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        kept = kept.removesuffix(b"\r")
        return kept if kept.strip() else None


def _beginning(parts: list[bytes], last: bytes) -> bytes:
    head = b""
    for part in (*parts, last):
        head += part[: _END_BYTES - len(head)]
        if len(head) >= _END_BYTES:
            break
    return head


COMMENT = b": keep-alive\n\n"
"""An event stream's comment, which carries no message."""
MOST_MESSAGE_BYTES = 64 << 20
"""Longest event or body that is parsed."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n|\Z))|\r\r(?!\n)")
"""The last byte of a blank line may still come, if it began with LF: then the CR is not its end."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One server-sent event."""

    data: bytes
    id: str | None = None
    """None if the event has no id; an empty id resets the last event id (HTML standard 9.2.6)."""
    name: str = "message"
    retry_ms: int | None = None
    """Milliseconds that the server asks a client to wait before it reconnects."""


def event_of(data: bytes, id: str | None = None, retry_ms: int | None = None) -> bytes:
    """Return the bytes of one event."""
    head = b"event: message\n"
    if id is not None:
        head += b"id: " + id.encode() + b"\n"
    if retry_ms is not None:
        head += b"retry: %d\n" % retry_ms
    lines = data.split(b"\n") if b"\n" in data or b"\r" in data else (data,)
    return head + b"".join(b"data: " + line.rstrip(b"\r") + b"\n" for line in lines) + b"\n"


class SseTooLong(ValueError):
    """Raised for an event that is longer than the limit."""


class SseReader:
    """Parses the events of a byte stream."""

    __slots__ = (
        "_began",
        "_data",
        "_id",
        "_limit",
        "_name",
        "_parts",
        "_retry_ms",
        "_size",
        "_skip_lf",
        "_unfinished_bytes",
    )

    def __init__(self, limit: int = MOST_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._began = False
        self._parts: list[bytes] = []
        """Parts of an unfinished line, joined once at its end, so that the cost stays linear."""
        self._unfinished_bytes = 0
        self._skip_lf = False
        self._data: list[bytes] = []
        self._size = 0
        self._id: str | None = None
        self._name = "message"
        self._retry_ms: int | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that end in these bytes. Raises SseTooLong."""
        if self._skip_lf and data:
            # The LF of a CR LF that was split between two reads.
            data = data.removeprefix(b"\n")
            self._skip_lf = False
        events: list[SseEvent] = []
        start = 0
        for match in _LINE_END.finditer(data):
            if match[0] == b"\r" and match.end() == len(data):
                self._skip_lf = True
            line = data[start : match.start()]
            if self._parts:
                line = b"".join((*self._parts, line))
                self._parts.clear()
                self._unfinished_bytes = 0
            event = self._line(line)
            start = match.end()
            if event is not None:
                events.append(event)
        if start < len(data):
            self._parts.append(data[start:])
            self._unfinished_bytes += len(data) - start
        if self._unfinished_bytes + self._size > self._limit:
            raise SseTooLong(f"an event of more than {self._limit} bytes")
        return events

    def _line(self, line: bytes) -> SseEvent | None:
        if not self._began:
            self._began = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._end()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"event":
            self._name = value.decode("utf-8", "replace") or "message"
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self._retry_ms = int(value)
        return None

    def _end(self) -> SseEvent | None:
        event = None
        if self._data:
            event = SseEvent(b"\n".join(self._data), self._id, self._name, self._retry_ms)
        self._data, self._size = [], 0
        self._id, self._name, self._retry_ms = None, "message", None
        return event


class SseSplitter:
    """Splits a stream after each blank line into pieces that can be forwarded byte for byte."""

    __slots__ = ("_limit", "_rest")

    def __init__(self, limit: int = MOST_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()

    @property
    def is_empty(self) -> bool:
        """True if no event has begun."""
        return not self._rest

    def feed(self, data: bytes) -> list[bytes]:
        """Return whole events and comments with their blank lines. Raises SseTooLong."""
        if not self._rest and data.endswith(b"\n\n") and b"\r" not in data and len(data) <= self._limit:
            # Whole events with plain line ends, as nearly all reads bring.
            return [piece + b"\n\n" for piece in data[:-2].split(b"\n\n")]
        # The blank line may have begun in the bytes of an earlier read.
        seen = max(0, len(self._rest) - 3)
        self._rest += data
        pieces: list[bytes] = []
        start = 0
        for match in _BLANK_LINE.finditer(self._rest, seen):
            pieces.append(bytes(self._rest[start : match.end()]))
            start = match.end()
        del self._rest[:start]
        if len(self._rest) > self._limit:
            raise SseTooLong(f"an event of more than {self._limit} bytes")
        return pieces

    def end(self) -> bytes:
        """Return the bytes after the last blank line."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest
