"""Filters that several stream faults share: `DelayFilter` only delays, `CutFilter` may end the connection,
`DiscardFilter` drops bytes.

`CutFilter` owns the law that Close or Reset, whether its own or one that passes, is the last thing to come
out. With `DiscardFilter` the peer receives nothing, not even the end of the other side, until the filter
closes by itself or is removed. TCP never shows a stream with a hole in it. So, once bytes are dropped,
removing the fault closes the connection.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.faults.events import Close, Data, Eof, Event, Reset, moved
from faultkit.faults.fault import FOREVER, Stream, StreamFilter


def close_at(stream: Stream, after_ms: float) -> float:
    """Return the time to close at: so long after the filter's start, and never for 0."""
    return stream.at + after_ms / 1000 if after_ms else FOREVER


class DelayFilter(StreamFilter):
    """Passes everything on, bytes later than they came, and keeps the order."""

    __slots__ = ("_last_at",)

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self.blind = True
        self._last_at = stream.at

    def delay_s(self, at: float) -> float:
        """Return the delay of bytes that arrive at `at`."""
        raise NotImplementedError

    def due(self, at: float) -> float:
        """Return when bytes that arrive at `at` are passed on."""
        at += self.delay_s(at)
        if at < self._last_at:
            return self._last_at
        self._last_at = at
        return at

    def feed(self, event: Event) -> Iterable[Event]:
        if isinstance(event, Data):
            return (Data(self.due(event.at), event.payload),)
        self._last_at = at = max(event.at, self._last_at)
        return (moved(event, at),)


class CutFilter(StreamFilter):
    """Lets everything pass until `cut`, and then nothing. `wake_at` is when it closes by itself."""

    __slots__ = ("is_over", "note")

    def __init__(self, stream: Stream, wake_at: float = FOREVER) -> None:
        super().__init__()
        self.note = stream.note
        self.wake_at = wake_at
        self.is_over = False

    def feed(self, event: Event) -> Iterable[Event]:
        if self.is_over:
            return ()
        if isinstance(event, Data):
            return self.data(event)
        if isinstance(event, Eof):
            return (event,)
        self._end()
        return (event,)

    def data(self, data: Data) -> Iterable[Event]:
        """Return what becomes of bytes before the cut."""
        return (data,)

    def wake(self, at: float) -> Iterable[Event]:
        return (self.cut(Close(at)),)

    def cut(self, end: Close | Reset) -> Event:
        """End the connection from here."""
        self._end()
        self.note("resets" if isinstance(end, Reset) else "closes", 1)
        return end

    def _end(self) -> None:
        self.is_over = True
        self.wake_at = FOREVER


class DiscardFilter(CutFilter):
    """Drops everything without a sign."""

    __slots__ = ("_lost", "_withheld")

    def __init__(self, stream: Stream, close_at: float) -> None:
        super().__init__(stream, close_at)
        self._lost = False
        self._withheld: Event | None = None

    def feed(self, event: Event) -> Iterable[Event]:
        if self.is_over:
            return ()
        if isinstance(event, Data):
            return self.data(event)
        self._withheld = event
        return ()

    def data(self, data: Data) -> Iterable[Event]:
        self._lost = True
        self.note("discarded_bytes", len(data.payload))
        return ()

    def finish(self, at: float) -> Iterable[Event]:
        if self.is_over:
            return ()
        if self._lost:
            return (self.cut(Close(at)),)
        return () if self._withheld is None else (moved(self._withheld, at),)
