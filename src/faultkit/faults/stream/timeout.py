"""Timeout: all bytes are dropped, and after a while the connection closes.

The time counts from the fault's start and is never extended, so a peer that keeps sending cannot keep the
connection open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream_filters import DiscardFilter, close_at


@dataclass(frozen=True)
class Timeout(StreamFault):
    kind: ClassVar[str] = "timeout"
    summary: ClassVar[str] = "All bytes are dropped; after a while the connection closes."
    lossy: ClassVar[bool] = True

    timeout_ms: float = setting(
        0.0,
        "Close this long after the fault began; 0 is never.",
        unit="ms",
        minimum=0,
        flag="after",
    )

    @property
    def withholds_end(self) -> bool:
        return True

    def open(self, stream: Stream) -> StreamFilter:
        return DiscardFilter(stream, close_at(stream, self.timeout_ms))
