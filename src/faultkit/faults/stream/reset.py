"""Reset: the connection ends by RST, at once or some time into its life. Bytes pass before that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.events import Data, Event
from faultkit.faults.events import Reset as ResetEvent
from faultkit.faults.fault import FOREVER, Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream_filters import CutFilter


@dataclass(frozen=True)
class Reset(StreamFault):
    kind: ClassVar[str] = "reset"
    summary: ClassVar[str] = "The connection ends by RST."
    lossy: ClassVar[bool] = True

    after_ms: float = setting(0.0, "How long bytes still pass.", unit="ms", minimum=0)
    on: Literal["start", "data"] = setting(
        "start", "Count from the fault's start, or from the first bytes.", choices=("start", "data")
    )

    def open(self, stream: Stream) -> StreamFilter:
        return _ResetFilter(self, stream)


class _ResetFilter(CutFilter):
    __slots__ = ("_after_s", "_armed")

    def __init__(self, fault: Reset, stream: Stream) -> None:
        self._after_s = fault.after_ms / 1000
        self._armed = fault.on == "start"
        super().__init__(stream, stream.at + self._after_s if self._armed else FOREVER)

    def data(self, data: Data) -> Iterable[Event]:
        if not self._armed:
            self._armed = True
            self.wake_at = data.at + self._after_s
        return (data,) if data.at < self.wake_at else self.wake(data.at)

    def wake(self, at: float) -> Iterable[Event]:
        return (self.cut(ResetEvent(at)),)
