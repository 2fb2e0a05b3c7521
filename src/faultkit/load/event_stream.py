"""Event streams under load: requests whose answers are server-sent events, read until they are complete.

A stream is a request like any other, so load models, deadlines and samples are those of `engine`. Its service
time ends when it is complete, as `StreamUntil` says. Beyond that, the time to the first event, the gaps
between events and the early ends are measured.

    complete     the events, the time or the data that were asked for have come; or, if nothing was asked for,
                 the server ended the stream in good order
    early end    the stream had begun and ended before: in good order (`early_end`), or cut (`closed`,
                 `reset`). A stream that timed out did not end early.

An event has come when the blank line behind it was read, so events that come in one piece have no gap between
them. Comments are no events.
"""

from __future__ import annotations

from math import nan

from faultkit.base.framing import SseReader
from faultkit.load.connection import Connection
from faultkit.load.engine import Engine
from faultkit.load.engine_base import Requester
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.load import StreamUntil
from faultkit.load.response import Failure, ResponseReader
from faultkit.load.route import Route
from faultkit.proxy.event_loop import Loop

_CUTS = (Failure.CLOSED, Failure.RESET)


class StreamEngine(Engine):
    """Sends requests whose answers are event streams."""

    def __init__(self, route: Route, loop: Loop, begin_at: float) -> None:
        super().__init__(route, loop, begin_at)
        self._until = route.stream or StreamUntil()
        self._figures: FigureRecorder = FigureRecorder("stream", begin_at)

    def new_reader(self) -> ResponseReader:
        return EventReader(self._until, self.loop, self._figures)

    def ask(self, requester: Requester, intended: float | None) -> None:
        super().ask(requester, intended)
        self._watch_newest()

    def crossed(self, connection: Connection) -> None:
        super().crossed(connection)
        self._watch_newest()

    def answered(self, connection: Connection, now: float) -> None:
        reader = _reader_of(connection)
        if reader.status >= 500 and reader.trouble is Failure.SHORTAGE:
            super().answered(connection, now)
            return
        failure = self._failure_of(reader)
        status = 0 if reader.status >= 500 and reader.trouble else reader.status
        self.errors += failure is not Failure.NONE
        self._record(connection, now, failure, is_early=failure is Failure.EARLY_END)
        self._recorder.add(connection, now, status, failure)
        self._end(connection, now)

    def failed(self, connection: Connection, now: float, failure: Failure) -> None:
        if failure is not Failure.SHORTAGE:
            self._record(connection, now, failure, is_early=failure in _CUTS)
        super().failed(connection, now, failure)

    def _failure_of(self, reader: EventReader) -> Failure:
        if reader.status >= 500:
            return reader.trouble or Failure.STATUS
        if reader.status >= 400:
            return Failure.CLIENT_STATUS
        if not reader.is_stream:
            return Failure.NO_STREAM
        return Failure.EARLY_END if self._until.is_given and not reader.is_reached else Failure.NONE

    def _record(self, connection: Connection, now: float, failure: Failure, *, is_early: bool) -> None:
        reader = _reader_of(connection)
        has_begun = bool(connection.received) and reader.is_stream
        slot = self._figures.slot_at(connection.intended)
        slot.failures[failure] += 1
        slot.begun += has_begun
        slot.early_ends += is_early and has_begun
        intended = connection.intended
        if has_begun and reader.events:
            self._figures.add_time("first_event", intended, reader.first_event - intended)
        else:
            self._figures.add_time("no_event", intended, now - intended)

    # --- streams that end after a time --------------------------------------------------------

    def _watch_newest(self) -> None:
        """Set the timer of the request that was sent last, if it ends after a time."""
        if self._until.time_s is None or not self.pending:
            return
        connection = next(reversed(self.pending))
        started = connection.started
        due = started + self._until.time_s
        self.loop.call_at(due, lambda at: self._complete(connection, started), None)

    def _complete(self, connection: Connection, started: float) -> None:
        if connection not in self.pending or connection.started != started:
            return  # It ended before, and the connection may have another request now.
        reader, now = _reader_of(connection), self._clock()
        connection.close()
        if connection.received and reader.is_stream:
            reader.is_reached = True
            self.answered(connection, now)
        else:
            self.failed(connection, now, Failure.TIMEOUT)


class EventReader(ResponseReader):
    """Reads the event streams of one connection. Their head decides whether they are any."""

    __slots__ = (
        "_events",
        "_figures",
        "_is_between",
        "_last_event",
        "_loop",
        "_now",
        "_until",
        "events",
        "first_event",
        "is_reached",
        "is_stream",
    )

    def __init__(self, until: StreamUntil, loop: Loop, figures: FigureRecorder) -> None:
        super().__init__()
        self._until = until
        self._loop = loop
        self._figures = figures
        self._now = nan
        self._reset()

    def _reset(self) -> None:
        self._events = SseReader()
        self._is_between = False
        """True if the last piece ended with the end of an event: nothing of the next is held back."""
        self._last_event = nan
        self.first_event = nan
        """The instant at which the first event came."""
        self.events = 0
        self.is_stream = False
        """Whether the head is that of a successful event stream."""
        self.is_reached = False
        """Whether what was asked for has come."""

    def feed(self, data: bytes) -> bool:
        self._now = self._loop.clock()
        if super().feed(data):
            return True
        self.keep_alive = False  # If what was asked for has come, the rest is not wanted.
        return self.is_reached

    def _begin(self) -> None:
        super()._begin()
        self.status = 0
        self._reset()

    # --- called by the parser -----------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type":
            self.is_stream = value.split(b";")[0].strip().lower() == b"text/event-stream"

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
        self.is_stream = self.is_stream and 200 <= status < 300

    def on_body(self, body: bytes) -> None:
        if not self.is_stream or self.is_reached:
            return
        if self._is_between and body.startswith(b"data: ") and _is_one_line(body):
            self._take_event(body[6:-2])  # Most events come so, each in a piece of its own.
            return
        for event in self._events.feed(body):
            self._take_event(event.data)
            if self.is_reached:
                return
        self._is_between = body.endswith(b"\n\n")

    def _take_event(self, data: bytes) -> None:
        if self.events:
            self._figures.add_time("gaps", self._now, self._now - self._last_event)
        else:
            self.first_event = self._now
        self._last_event = self._now
        self.events += 1
        self._figures.figures.events += 1
        until = self._until
        if self.events == until.events or (until.data is not None and data == until.data.encode()):
            self.is_reached = True


def _is_one_line(event: bytes) -> bool:
    """Return whether these bytes are one line and the blank line behind it."""
    return event.endswith(b"\n\n") and event.find(b"\n") == len(event) - 2 and b"\r" not in event


def _reader_of(connection: Connection) -> EventReader:
    assert isinstance(connection.answer, EventReader)
    return connection.answer
