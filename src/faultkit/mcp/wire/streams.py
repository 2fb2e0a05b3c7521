"""The event streams of one legacy session. What was sent is kept a while, so that a reader can come back."""

from __future__ import annotations

from collections import OrderedDict, deque

from faultkit.base.http.server import Answer
from faultkit.mcp.wire.sse import event_of

HEAD = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    ("x-accel-buffering", "no"),
]
_MOST_EVENTS = 256
_MOST_BYTES = 8 << 20
_MOST_STREAMS = 64
MOST_UNREAD_BYTES = 16 << 20
"""A reader that has left so much lying is cut off; it can come back for what is kept."""


class EventStream:
    """Events with ids. With nobody reading, they wait, as far as there is room."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self._events: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._next = 0
        self._answer: Answer | None = None

    @property
    def kept_bytes(self) -> int:
        return self._size

    @property
    def is_read(self) -> bool:
        return self._answer is not None and self._answer.is_open

    def attach(
        self, answer: Answer, last_id: str | None = None, head: list[tuple[str, str]] | None = None
    ) -> None:
        """From now on it goes there, beginning behind the event of this id."""
        self._answer = answer
        answer.begin(200, [*HEAD, *(head or [])])
        last = (last_id or "").rpartition("-")[2]
        seen = int(last) if last.isdecimal() and len(last) < 16 else -1
        for number, raw in self._events:
            if number > seen:
                answer.write(event_of(raw, f"{self.name}-{number}"))
        if self.ended:
            answer.end()

    def send(self, raw: bytes) -> None:
        number, self._next = self._next, self._next + 1
        self._events.append((number, raw))
        self._size += len(raw)
        while len(self._events) > _MOST_EVENTS or (self._size > _MOST_BYTES and len(self._events) > 1):
            self._size -= len(self._events.popleft()[1])
        answer = self._answer
        if answer is not None:
            if answer.unread_bytes > MOST_UNREAD_BYTES:
                self._answer = None
                answer.abort(reset=True)
            else:
                answer.write(event_of(raw, f"{self.name}-{number}"))

    def end(self) -> None:
        self.ended = True
        if self._answer is not None:
            self._answer.end()


class Streams:
    """All of a session: its own one, and those of its calls."""

    def __init__(self) -> None:
        self.own = EventStream("own")
        self._calls: OrderedDict[str, EventStream] = OrderedDict()
        self._made = 0

    def for_call(self) -> EventStream:
        self._made += 1
        stream = EventStream(f"call{self._made}")
        kept = sum(each.kept_bytes for each in self._calls.values())
        while len(self._calls) >= _MOST_STREAMS or (kept > _MOST_BYTES and self._calls):
            kept -= self._calls.popitem(last=False)[1].kept_bytes
        self._calls[stream.name] = stream
        return stream

    def wanted(self, last_id: str | None) -> EventStream | None:
        """The stream that an event belongs to; the session's own one if none is named."""
        if last_id is None:
            return self.own
        name = last_id.rpartition("-")[0]
        return self.own if name == self.own.name else self._calls.get(name)

    def close(self) -> None:
        for stream in (self.own, *self._calls.values()):
            stream.end()
