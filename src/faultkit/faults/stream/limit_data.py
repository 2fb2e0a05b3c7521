"""Limit data: exactly the given number of bytes passes, then the connection closes.

Close comes with the last byte that passes. With a limit of 0 it comes in place of the first byte, so that the
other direction can still be used before that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.events import Close, Data, Event
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream_filters import CutFilter


@dataclass(frozen=True)
class LimitData(StreamFault):
    kind: ClassVar[str] = "limit_data"
    summary: ClassVar[str] = "A given number of bytes pass, then the connection closes."
    lossy: ClassVar[bool] = True

    bytes: int = setting(1024, "How many bytes pass.", unit="bytes", minimum=0)

    def open(self, stream: Stream) -> StreamFilter:
        return _LimitDataFilter(self, stream)


class _LimitDataFilter(CutFilter):
    __slots__ = ("_left",)

    def __init__(self, fault: LimitData, stream: Stream) -> None:
        super().__init__(stream)
        self._left = fault.bytes

    def data(self, data: Data) -> Iterable[Event]:
        size, left = len(data.payload), self._left
        if size < left:
            self._left -= size
            return (data,)
        if size > left:
            self.note("discarded_bytes", size - left)
        close = self.cut(Close(data.at))
        return (Data(data.at, data.payload[:left]), close) if left else (close,)
