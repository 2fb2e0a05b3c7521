"""Server-sent events: writing them, and reading them out of a stream of bytes. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMMENT = b": keep-alive\n\n"
MOST_BYTES = 64 << 20
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    data: bytes
    id: str | None = None
    """None if the event says nothing of it; an empty one forgets the last."""
    name: str = "message"
    retry_ms: int | None = None


def event_of(data: bytes, id: str | None = None, retry_ms: int | None = None) -> bytes:
    """The bytes of one event."""
    head = b"event: message\n"
    if id is not None:
        head += b"id: " + id.encode() + b"\n"
    if retry_ms is not None:
        head += b"retry: %d\n" % retry_ms
    lines = data.split(b"\n") if b"\n" in data or b"\r" in data else (data,)
    return head + b"".join(b"data: " + line.rstrip(b"\r") + b"\n" for line in lines) + b"\n"


class SseTooLong(ValueError):
    """An event is longer than the limit."""


class SseReader:
    """Feeds on bytes as they come, and gives the events that end in them."""

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
        "_waiting",
    )

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._began = False
        self._parts: list[bytes] = []
        """Of a line whose end has not come: joined once, so that a long one costs no more than its length."""
        self._waiting = 0
        self._skip_lf = False
        self._data: list[bytes] = []
        self._size = 0
        self._id: str | None = None
        self._name = "message"
        self._retry_ms: int | None = None

    def feed(self, data: bytes) -> list[Event]:
        """SseTooLong ends the reading."""
        if self._skip_lf and data:
            # The LF of a CR LF that was cut apart between two reads.
            data = data.removeprefix(b"\n")
            self._skip_lf = False
        events: list[Event] = []
        start = 0
        for match in _LINE_END.finditer(data):
            if match[0] == b"\r" and match.end() == len(data):
                self._skip_lf = True
            line = data[start : match.start()]
            if self._parts:
                line = b"".join((*self._parts, line))
                self._parts.clear()
                self._waiting = 0
            event = self._line(line)
            start = match.end()
            if event is not None:
                events.append(event)
        if start < len(data):
            self._parts.append(data[start:])
            self._waiting += len(data) - start
        if self._waiting + self._size > self._limit:
            raise SseTooLong(f"an event of more than {self._limit} bytes")
        return events

    def _line(self, line: bytes) -> Event | None:
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

    def _end(self) -> Event | None:
        event = None
        if self._data:
            event = Event(b"\n".join(self._data), self._id, self._name, self._retry_ms)
        self._data, self._size = [], 0
        self._id, self._name, self._retry_ms = None, "message", None
        return event


class SseSplitter:
    """Cuts a stream behind each blank line, so that its pieces can be passed on as they came."""

    __slots__ = ("_limit", "_rest")

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Whole events and comments with what ends them. SseTooLong ends the reading."""
        # The blank line may have begun in what was there before.
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
        """What came behind the last blank line."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest
