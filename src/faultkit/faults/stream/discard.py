"""The filter that swallows bytes and ends, for the faults that do (blackhole, timeout).

The peer receives nothing, not even the end of the other side, until the filter closes by itself or
is taken off. A stream with a hole in it is something that TCP never shows. So, once bytes are gone,
taking the fault off closes the connection instead of going on behind the hole.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.faults.events import Close, Data, Event, moved
from faultkit.faults.fault import Stream
from faultkit.faults.stream.cut import CutFilter


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
