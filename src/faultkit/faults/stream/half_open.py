"""Half-open: one direction goes silent, without FIN or RST, and the other continues.

After `after_bytes` nothing more passes: no bytes and no end. When the fault is removed, an end that was held
back is passed on; if bytes were lost, the connection closes, because TCP has no holes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.events import Close, Data, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting


@dataclass(frozen=True)
class HalfOpen(StreamFault):
    kind: ClassVar[str] = "half_open"
    summary: ClassVar[str] = "One direction goes silent without FIN or RST; the other continues."
    lossy: ClassVar[bool] = True

    after_bytes: int = setting(0, "Bytes that pass first.", unit="bytes", minimum=0)

    @property
    def withholds_end(self) -> bool:
        return True

    def open(self, stream: Stream) -> StreamFilter:
        return _HalfOpenFilter(self, stream)


class _HalfOpenFilter(StreamFilter):
    __slots__ = ("_end", "_left", "_lost", "_note")

    def __init__(self, fault: HalfOpen, stream: Stream) -> None:
        super().__init__()
        self._note = stream.note
        self._left = fault.after_bytes
        self._lost = False
        self._end: Event | None = None

    def feed(self, event: Event) -> Iterable[Event]:
        if not isinstance(event, Data):
            if self._left:
                return (event,)
            self._end = event
            return ()
        payload, left = event.payload, self._left
        self._left -= min(len(payload), left)
        if len(payload) <= left:
            return (event,)
        self._lost = True
        self._note("discarded_bytes", len(payload) - left)
        return (Data(event.at, payload[:left]),) if left else ()

    def finish(self, at: float) -> Iterable[Event]:
        if self._lost:
            return (Close(at),)
        return (moved(self._end, at),) if self._end else ()
