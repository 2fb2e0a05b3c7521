"""Two faults that only this API can ask for, and that the vocabulary has in a slightly other form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from faultkit.base.rng import Rng
from faultkit.faults.events import Close, Data, Event, moved
from faultkit.faults.events import Reset as ResetEvent
from faultkit.faults.fault import FOREVER, Stream, StreamFilter, setting
from faultkit.faults.stream.cut import CutFilter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.reset import Reset


@dataclass(frozen=True)
class JitteredLatency(Latency):
    """A uniform delay whose lower bound may lie below 0; draws below 0 are no delay."""

    low_ms: float = setting(0.0, "Lower bound; below 0 means a chance of no delay.", unit="ms")

    def draw_ms(self, rng: Rng) -> float:
        return max(0.0, rng.between(self.low_ms, self.max_ms))


@dataclass(frozen=True)
class ResetPeer(Reset):
    """Nothing passes: the first bytes, or the end, start the timer, and then comes RST."""

    @property
    def withholds_end(self) -> bool:
        return True

    def open(self, stream: Stream) -> StreamFilter:
        return _ResetPeerFilter(self, stream)


class _ResetPeerFilter(CutFilter):
    __slots__ = ("_after_s", "_held")

    def __init__(self, fault: ResetPeer, stream: Stream) -> None:
        super().__init__(stream)
        self._after_s = fault.after_ms / 1000
        self._held: list[Event] = []

    def feed(self, event: Event) -> Iterable[Event]:
        if self.is_over:
            return ()
        if isinstance(event, Close | ResetEvent):
            return super().feed(event)
        if not self._held:
            self.wake_at = event.at + self._after_s
            self.ready_at = FOREVER
        self._held.append(event)
        return self.wake(event.at) if event.at >= self.wake_at else ()

    def wake(self, at: float) -> Iterable[Event]:
        lost = sum(len(event.payload) for event in self._held if isinstance(event, Data))
        if lost:
            self.note("discarded_bytes", lost)
        self._held.clear()
        return (self.cut(ResetEvent(at)),)

    def finish(self, at: float) -> Iterable[Event]:
        return () if self.is_over else [moved(event, at) for event in self._held]
