"""Slicer: bytes arrive in small pieces, with a pause between any two pieces of the stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.events import Data, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting

_LEAST_READ, _MOST_READ = 512, 65536
_PIECES_A_READ = 64


@dataclass(frozen=True)
class Slicer(StreamFault):
    kind: ClassVar[str] = "slicer"
    summary: ClassVar[str] = "Bytes arrive in small pieces."

    average_bytes: int = setting(64, "Size of a piece, about.", unit="bytes", minimum=1)
    variation_bytes: int = setting(
        0, "How far a cut may be off the middle, and a piece above the average.", unit="bytes", minimum=0
    )
    delay_us: float = setting(0.0, "Pause between two pieces.", unit="µs", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_us / 1000 if self.delay_us else None

    def open(self, stream: Stream) -> StreamFilter:
        return _SlicerFilter(self, stream)

    def cuts(self, size: int, rng: Rng) -> list[int]:
        """Return the end of each piece of `size` bytes: halved, more or less, until all are small enough."""
        ends: list[int] = []
        todo = [(0, size)]
        while todo:
            begin, end = todo.pop()
            length = end - begin
            if length <= self.average_bytes + self.variation_bytes:
                ends.append(end)
                continue
            middle = length // 2
            if self.variation_bytes:
                middle += rng.below(2 * self.variation_bytes + 1) - self.variation_bytes
            cut = begin + max(1, min(length - 1, middle))
            todo += ((cut, end), (begin, cut))
        return ends


class _SlicerFilter(StreamFilter):
    __slots__ = ("_delay_s", "_fault", "_last_at", "_next_at", "_stream")

    def __init__(self, fault: Slicer, stream: Stream) -> None:
        super().__init__()
        self._fault = fault
        self._stream = stream
        self._delay_s = fault.delay_us / 1e6
        self._last_at = stream.at
        self._next_at = stream.at
        self.read_size = max(_LEAST_READ, min(_MOST_READ, fault.average_bytes * _PIECES_A_READ))

    def feed(self, event: Event) -> Iterable[Event]:
        if not isinstance(event, Data):
            return (moved(event, max(event.at, self._last_at)),)
        pieces: list[Event] = []
        begin = 0
        for end in self._fault.cuts(len(event.payload), self._stream.rng):
            self._last_at = max(event.at, self._next_at)
            self._next_at = self._last_at + self._delay_s
            pieces.append(Data(self._last_at, event.payload[begin:end]))
            begin = end
        if len(pieces) > 1 or self._last_at > event.at:  # Else it has passed as it came.
            self._stream.note("pieces", len(pieces))
        if self._delay_s:
            self.ready_at = self._last_at
        return pieces
