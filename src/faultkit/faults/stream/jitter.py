"""Jitter: the delay of bytes changes with time.

Time since the filter's start is cut into windows of 1/frequency seconds, each with a delay of its own.
The delay of a window depends on its number only, so it is the same whatever the traffic is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream_filters import DelayFilter


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


class _JitterFilter(DelayFilter):
    __slots__ = ("_delay_ms", "_fault", "_stream", "_window")

    def __init__(self, fault: Jitter, stream: Stream) -> None:
        super().__init__(stream)
        self._fault = fault
        self._stream = stream
        self._window = -1
        self._delay_ms = 0.0

    def delay_s(self, at: float) -> float:
        window = int((at - self._stream.at) * self._fault.frequency_hz)
        if window != self._window:
            self._window = window
            self._delay_ms = self._stream.rng.child(window).between(0.0, self._fault.amplitude_ms)
        self._stream.note("delay_ms", self._delay_ms)
        return self._delay_ms / 1000
