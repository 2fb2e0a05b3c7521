"""Blackhole: nothing passes.

`stall` stops reading at the first bytes, so the sender's buffers fill up; what was read is kept and passed on
when the fault is removed. `discard` reads and drops, so the sender notices nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.events import Data, Event, moved
from faultkit.faults.fault import FOREVER, Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream_filters import CutFilter, DiscardFilter, close_at


@dataclass(frozen=True)
class Blackhole(StreamFault):
    kind: ClassVar[str] = "blackhole"
    summary: ClassVar[str] = "Nothing comes through, and neither side gets a FIN or RST."
    lossy: ClassVar[bool] = True

    mode: Literal["stall", "discard"] = setting(
        "stall", "Stop reading, or read and drop.", choices=("stall", "discard")
    )
    close_after_ms: float = setting(
        0.0, "Close the connection this long after the fault began; 0 is never.", unit="ms", minimum=0
    )

    @property
    def loses_bytes(self) -> bool:
        return self.mode == "discard" or self.close_after_ms > 0

    @property
    def withholds_end(self) -> bool:
        return True

    def open(self, stream: Stream) -> StreamFilter:
        filter = DiscardFilter if self.mode == "discard" else _StallFilter
        return filter(stream, close_at(stream, self.close_after_ms))


class _StallFilter(CutFilter):
    __slots__ = ("_held",)

    def __init__(self, stream: Stream, close_at: float) -> None:
        super().__init__(stream, close_at)
        self._held: list[Event] = []
        # The first bytes are taken, to know that something was held back; then reading stops.
        self.read_size = 4096

    def feed(self, event: Event) -> Iterable[Event]:
        if not self.is_over:
            self._held.append(event)
            self.ready_at = FOREVER
            if isinstance(event, Data):
                self.note("stalled_bytes", len(event.payload))
        return ()

    def finish(self, at: float) -> Iterable[Event]:
        return () if self.is_over else [moved(event, at) for event in self._held]
