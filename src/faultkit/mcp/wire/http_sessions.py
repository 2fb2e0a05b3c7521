"""Legacy sessions of an HTTP front and their event streams.

Session ids are random, because an id is all that a request needs to join a session (MCP 2025-11-25,
Transports, Session Management, 1).

Resumption (same page, Resumability and Redelivery): a session has one stream for messages that belong to no
call, read by GET, and one for each call that is answered with a stream. Each numbers its events, and an event
id is `STREAM-NUMBER`, so an id names its stream and is unique in the session. The newest events are kept. A
client that lost its connection sends a GET with the last id that it received; the stream is then attached to
the new response, and the kept events after that number are sent again, those of other streams never.

    service --> EventStream.send --> kept events
                        |
                        +----------> the attached response, if any; none while the client is away
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from faultkit.base.framing import event_of
from faultkit.base.http.http_exchange import ResponseWriter
from faultkit.mcp.wire.exchange import Service, Session


@dataclass(slots=True)
class _SessionEntry:
    """A session, its streams and when it was last used."""

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
        self._entries: OrderedDict[str, _SessionEntry] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def start(self) -> None:
        """Begin to end idle sessions."""
        if self._idle_s is not None:
            self._end_idle(self._idle_s)

    def stop(self) -> None:
        """End every session."""
        if self._sweep is not None:
            self._sweep.cancel()
        for id in tuple(self._entries):
            self.end(id)

    def open(self, caller: str) -> Session:
        """Open a session that belongs to this caller."""
        while len(self._entries) >= self._most:
            self.end(next(iter(self._entries)))
        streams = SessionStreams()
        session = Session(secrets.token_hex(16), "http", "legacy", streams.own.send)
        session.owner = caller
        self._entries[session.id] = _SessionEntry(session, streams)
        self._service.opened(session)
        return session

    def use(self, id: str, caller: str) -> Session | None:
        """Return the session with this id if it exists and belongs to this caller."""
        entry = self._entries.get(id)
        if entry is None or entry.session.owner != caller:
            return None
        self._entries.move_to_end(id)
        entry.used_s = asyncio.get_running_loop().time()
        return entry.session

    def streams_of(self, session: Session) -> SessionStreams:
        return self._entries[session.id].streams

    def end(self, id: str) -> None:
        """End a session: cancel its calls and end its streams."""
        entry = self._entries.pop(id, None)
        if entry is not None:
            for exchange in tuple(entry.session.exchanges.values()):
                exchange.cancel()
            entry.streams.close()
            self._service.closed(entry.session)

    def _end_idle(self, idle_s: float) -> None:
        loop = asyncio.get_running_loop()
        for id, entry in tuple(self._entries.items()):
            is_used = entry.session.exchanges or entry.streams.own.is_read
            if not is_used and loop.time() - entry.used_s > idle_s:
                self.end(id)
        self._sweep = loop.call_later(min(60.0, idle_s), self._end_idle, idle_s)


EVENT_STREAM_HEADERS = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    ("x-accel-buffering", "no"),
]
# X-Accel-Buffering: MCP 2026-07-28, Streamable HTTP, Receiving Messages.
_MOST_EVENTS = 256
"""Events that a stream keeps."""
_MOST_BYTES = 8 << 20
"""Bytes that a stream keeps, and that the streams of a session's calls keep together."""
_MOST_STREAMS = 64
"""Streams of calls that a session keeps, including those that have ended."""
MOST_UNREAD_BYTES = 16 << 20
"""A reader with more unread bytes than this is disconnected; it can resume from the kept events."""


class EventStream:
    """A stream of events with ids; the newest events are kept for readers that resume it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self._events: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._next_number = 0
        self._answer: ResponseWriter | None = None

    @property
    def kept_bytes(self) -> int:
        return self._size

    @property
    def is_read(self) -> bool:
        """True while a client reads the stream: each message goes to one connection only (MCP 2025-11-25,
        Transports, Multiple Connections)."""
        return self._answer is not None and self._answer.is_open

    def attach(
        self, answer: ResponseWriter, last_id: str | None = None, head: list[tuple[str, str]] | None = None
    ) -> None:
        """Send the stream to this response from now on, starting after the event with `last_id`."""
        self._answer = answer
        answer.begin(200, [*EVENT_STREAM_HEADERS, *(head or [])])
        last = (last_id or "").rpartition("-")[2]
        last_number = int(last) if last.isdecimal() and len(last) < 16 else -1
        for number, raw in self._events:
            if number > last_number:
                answer.write(event_of(raw, f"{self.name}-{number}"))
        if self.ended:
            answer.end()

    def send(self, raw: bytes) -> None:
        """Keep a message as the next event, and send it if the stream is attached."""
        number, self._next_number = self._next_number, self._next_number + 1
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
        """End the stream; a client that resumes it gets the kept events and the end."""
        self.ended = True
        if self._answer is not None:
            self._answer.end()


class SessionStreams:
    """The event streams of one session: its own one, and one for each streamed call."""

    def __init__(self) -> None:
        self.own = EventStream("own")
        self._calls: OrderedDict[str, EventStream] = OrderedDict()
        self._call_count = 0

    def for_call(self) -> EventStream:
        """Open the stream of a call; the oldest kept streams are dropped if there are too many."""
        self._call_count += 1
        stream = EventStream(f"call{self._call_count}")
        kept = sum(each.kept_bytes for each in self._calls.values())
        while len(self._calls) >= _MOST_STREAMS or (kept > _MOST_BYTES and self._calls):
            kept -= self._calls.popitem(last=False)[1].kept_bytes
        self._calls[stream.name] = stream
        return stream

    def stream_of(self, last_id: str | None) -> EventStream | None:
        """Return the stream that an event id belongs to; without an id, the session's own stream.

        None if that stream is not kept any more."""
        if last_id is None:
            return self.own
        name = last_id.rpartition("-")[0]
        return self.own if name == self.own.name else self._calls.get(name)

    def close(self) -> None:
        """End every stream."""
        for stream in (self.own, *self._calls.values()):
            stream.end()
