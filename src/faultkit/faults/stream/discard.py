"""The filter that swallows bytes, for the faults that do (blackhole, timeout).

A stream with a hole in it is something that TCP never shows. So, once bytes are gone, taking the fault
off closes the connection instead of going on behind the hole.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.faults.events import Close, Data, Event
from faultkit.faults.fault import Stream
from faultkit.faults.stream.cut import CutFilter


class DiscardFilter(CutFilter):
    """Bytes vanish; ends pass at once, so that no connection lingers."""

    __slots__ = ("_lost",)

    def __init__(self, stream: Stream, close_at: float) -> None:
        super().__init__(stream, close_at)
        self._lost = False

    def data(self, data: Data) -> Iterable[Event]:
        self._lost = True
        self.note("discarded_bytes", len(data.payload))
        return ()

    def finish(self, at: float) -> Iterable[Event]:
        return (self.cut(Close(at)),) if self._lost and not self.is_over else ()
