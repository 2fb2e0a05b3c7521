"""Slow close: bytes pass at once, but the end of the stream comes late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.events import Close, Eof, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting


@dataclass(frozen=True)
class SlowClose(StreamFault):
    kind: ClassVar[str] = "slow_close"
    summary: ClassVar[str] = "The end of the stream is delayed; bytes are not."

    delay_ms: float = setting(1000.0, "Delay of the end.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_ms

    def open(self, stream: Stream) -> StreamFilter:
        return _SlowCloseFilter(self, stream)


class _SlowCloseFilter(StreamFilter):
    __slots__ = ("_delay_ms", "_last_at", "_note")

    def __init__(self, fault: SlowClose, stream: Stream) -> None:
        super().__init__()
        self.blind = True
        self._delay_ms = fault.delay_ms
        self._last_at = stream.at
        self._note = stream.note

    def feed(self, event: Event) -> Iterable[Event]:
        at = event.at
        if isinstance(event, (Eof, Close)):
            self._note("delay_ms", self._delay_ms)
            at += self._delay_ms / 1000
        self._last_at = at = max(at, self._last_at)
        return (moved(event, at),)
