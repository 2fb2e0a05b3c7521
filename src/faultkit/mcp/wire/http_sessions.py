"""Legacy sessions of an HTTP front and their event streams.

Session ids are opaque and hard to guess, because an id is all that a request needs to join a session. Sent
events are kept for a while, so that a client can resume a stream with Last-Event-ID (MCP up to 2025-11-25).
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from faultkit.base.http.http_server import ResponseWriter
from faultkit.mcp.wire.exchange import Service, Session
from faultkit.mcp.wire.framing import event_of


@dataclass(slots=True)
class _Kept:
    session: Session
    streams: SessionStreams
    used_s: float = field(default_factory=lambda: asyncio.get_running_loop().time())


class HttpSessions:
    """The open legacy sessions of an HTTP front, by id."""

    def __init__(self, service: Service, most: int, idle_s: float | None) -> None:
        """Opens and closes are reported to `service`. Above `most` sessions the least recently used one ends;
        `idle_s`: so does a session that was unused for this long."""
        self._service = service
        self._most = most
        self._idle_s = idle_s
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def start(self) -> None:
        if self._idle_s is not None:
            self._end_idle(self._idle_s)

    def stop(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for id in tuple(self._kept):
            self.end(id)

    def open(self, who: str) -> Session:
        while len(self._kept) >= self._most:
            self.end(next(iter(self._kept)))
        streams = SessionStreams()
        session = Session(secrets.token_hex(16), "http", "legacy", streams.own.send)
        session.owner = who
        self._kept[session.id] = _Kept(session, streams)
        self._service.opened(session)
        return session

    def use(self, id: str, who: str) -> Session | None:
        """Return the session with this id if it exists and belongs to this caller."""
        kept = self._kept.get(id)
        if kept is None or kept.session.owner != who:
            return None
        self._kept.move_to_end(id)
        kept.used_s = asyncio.get_running_loop().time()
        return kept.session

    def streams_of(self, session: Session) -> SessionStreams:
        return self._kept[session.id].streams

    def end(self, id: str) -> None:
        kept = self._kept.pop(id, None)
        if kept is not None:
            for exchange in tuple(kept.session.exchanges.values()):
                exchange.cancel()
            kept.streams.close()
            self._service.closed(kept.session)

    def _end_idle(self, idle_s: float) -> None:
        loop = asyncio.get_running_loop()
        for id, kept in tuple(self._kept.items()):
            is_used = kept.session.exchanges or kept.streams.own.is_read
            if not is_used and loop.time() - kept.used_s > idle_s:
                self.end(id)
        self._sweep = loop.call_later(min(60.0, idle_s), self._end_idle, idle_s)


EVENT_STREAM_HEADERS = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    ("x-accel-buffering", "no"),
]
_MOST_EVENTS = 256
_MOST_BYTES = 8 << 20
_MOST_STREAMS = 64
MOST_UNREAD_BYTES = 16 << 20
"""A reader with more unread bytes than this is disconnected; it can resume from the kept events."""


class EventStream:
    """A stream of events with ids; the newest events are kept for readers that resume it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self._events: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._next = 0
        self._answer: ResponseWriter | None = None

    @property
    def kept_bytes(self) -> int:
        return self._size

    @property
    def is_read(self) -> bool:
        return self._answer is not None and self._answer.is_open

    def attach(
        self, answer: ResponseWriter, last_id: str | None = None, head: list[tuple[str, str]] | None = None
    ) -> None:
        """Send the stream to this response from now on, starting after the event with `last_id`."""
        self._answer = answer
        answer.begin(200, [*EVENT_STREAM_HEADERS, *(head or [])])
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


class SessionStreams:
    """The event streams of one session: its own one, and one for each streamed call."""

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
        """Return the stream that an event id belongs to; without an id, the session's own stream.

        A client resumes one stream: events of other streams are not sent again on it."""
        if last_id is None:
            return self.own
        name = last_id.rpartition("-")[0]
        return self.own if name == self.own.name else self._calls.get(name)

    def close(self) -> None:
        for stream in (self.own, *self._calls.values()):
            stream.end()
