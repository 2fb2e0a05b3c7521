"""Jitter: the delay of bytes changes with time.

Time since the filter's start is cut into windows of 1/frequency seconds, each with a delay of its own.
The delay of a window depends on its number only, so it is the same whatever the traffic is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.events import Data, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting


@dataclass(frozen=True)
class Jitter(StreamFault):
    kind: ClassVar[str] = "jitter"
    summary: ClassVar[str] = "The delay of bytes changes from moment to moment."

    amplitude_ms: float = setting(20.0, "Longest delay; each is drawn from 0 to it.", unit="ms", minimum=0)
    frequency_hz: float = setting(
        5.0,
        "How often a second the delay changes; 0 keeps one delay.",
        unit="Hz",
        minimum=0,
        maximum=1e6,
        env="FAULT_JITTER_FREQ",
    )

    @property
    def least_delay_ms(self) -> float | None:
        return 0.0

    def open(self, stream: Stream) -> StreamFilter:
        return _JitterFilter(self, stream)


class _JitterFilter(StreamFilter):
    __slots__ = ("_delay_ms", "_fault", "_last_at", "_stream", "_window")

    def __init__(self, fault: Jitter, stream: Stream) -> None:
        super().__init__()
        self.blind = True
        self._fault = fault
        self._stream = stream
        self._last_at = stream.at
        self._window = -1
        self._delay_ms = 0.0

    def feed(self, event: Event) -> Iterable[Event]:
        at = event.at
        if isinstance(event, Data):
            delay_ms = self._delay_ms_at(at)
            self._stream.note("delay_ms", delay_ms)
            at += delay_ms / 1000
        self._last_at = at = max(at, self._last_at)
        return (moved(event, at),)

    def _delay_ms_at(self, at: float) -> float:
        window = int((at - self._stream.at) * self._fault.frequency_hz)
        if window != self._window:
            self._window = window
            self._delay_ms = self._stream.rng.child(window).between(0.0, self._fault.amplitude_ms)
        return self._delay_ms
