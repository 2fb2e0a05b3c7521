"""Corrupt: some bits are flipped.

The stream is cut into virtual segments at fixed offsets; of a segment that is hit, one random bit is
flipped. Which bits these are does not depend on how the bytes were read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.events import Data, Event
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting


@dataclass(frozen=True)
class Corrupt(StreamFault):
    kind: ClassVar[str] = "corrupt"
    summary: ClassVar[str] = "Some bits are flipped."
    lossy: ClassVar[bool] = True

    rate: float = setting(0.01, "Share of segments with a flipped bit.", minimum=0, maximum=1)
    segment_bytes: int = setting(1448, "Size of a virtual segment.", unit="bytes", minimum=1)

    def open(self, stream: Stream) -> StreamFilter:
        return _CorruptFilter(self, stream)


class _CorruptFilter(StreamFilter):
    __slots__ = ("_fault", "_flip_at", "_mask", "_offset", "_segment", "_stream")

    def __init__(self, fault: Corrupt, stream: Stream) -> None:
        super().__init__()
        self._fault = fault
        self._stream = stream
        self._offset = 0
        self._segment = -1
        self._draw()

    def feed(self, event: Event) -> Iterable[Event]:
        if not isinstance(event, Data):
            return (event,)
        begin = self._offset
        self._offset = end = begin + len(event.payload)
        if self._flip_at >= end:
            return (event,)
        payload = bytearray(event.payload)
        while self._flip_at < end:
            payload[self._flip_at - begin] ^= self._mask
            self._stream.note("flipped_bit_at", self._flip_at)
            self._draw()
        return (Data(event.at, bytes(payload)),)

    def _draw(self) -> None:
        """Draw the next bit to flip: `_flip_at` is the offset of its byte in the stream."""
        rng, size = self._stream.rng, self._fault.segment_bytes
        self._segment += 1 + rng.gap(self._fault.rate)
        byte, bit = divmod(rng.below(size * 8), 8)
        self._flip_at = self._segment * size + byte
        self._mask = 1 << bit
