"""Bandwidth: bytes pass at a given rate.

A virtual clock (`paid_until`) holds the time until which the line is in use. Each piece moves it by size/rate
and leaves when its last byte is paid for, so errors of the real clock never add up. An idle line saves no
credit beyond `burst_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.events import Data, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting

UNITS: dict[str, float] = {
    "Bps": 1.0,
    "KBps": 1e3,
    "MBps": 1e6,
    "GBps": 1e9,
    "bit": 1 / 8,
    "kbit": 1e3 / 8,
    "mbit": 1e6 / 8,
    "gbit": 1e9 / 8,
}
"""Bytes a second in one of each unit; all are decimal."""

_LEAST_BPS, _MOST_BPS = 0.001, 1e15
_PIECE_S, _READ_S = 0.001, 0.010
_LEAST_BYTES, _MOST_BYTES = 512, 65536
_LOOK_AHEAD_S = 0.002
"""The relay reads again this long before the line is free, so that the line never runs dry."""
_NOTICED_S = 0.0001
"""Bytes that leave less late than this have met no limit: loopback alone takes as long. A line in use gets
there, because reads are ahead of it by up to `_LOOK_AHEAD_S`."""


@dataclass(frozen=True)
class Bandwidth(StreamFault):
    kind: ClassVar[str] = "bandwidth"
    summary: ClassVar[str] = "Bytes pass at a given rate."

    rate: float = setting(1000.0, "Rate, in `unit`.", above=0)
    unit: Literal["Bps", "KBps", "MBps", "GBps", "bit", "kbit", "mbit", "gbit"] = setting(
        "Bps", "Bytes (Bps and up) or bits (bit and up) a second, decimal.", choices=tuple(UNITS)
    )
    burst_bytes: int = setting(
        0, "Bytes that pass at once after an idle time.", unit="bytes", minimum=0, maximum=10**12
    )
    scope: Literal["connection", "proxy"] = setting(
        "connection",
        "Each connection has the rate for itself, or all of the proxy share it.",
        choices=("connection", "proxy"),
    )

    def check(self) -> None:
        if not _LEAST_BPS <= self.rate_bps <= _MOST_BPS:
            raise ValueError(
                f"rate: expected {_LEAST_BPS:g} to {_MOST_BPS:g} bytes a second, got {self.rate_bps:g}"
            )

    @property
    def rate_bps(self) -> float:
        """The rate in bytes a second."""
        return self.rate * UNITS[self.unit]

    @property
    def shares_memory(self) -> bool:
        return self.scope == "proxy"

    @property
    def piece_bytes(self) -> int:
        """The most that is delivered as one piece: a millisecond of the rate, within reason."""
        return _within_reason(self.rate_bps * _PIECE_S)

    def open(self, stream: Stream) -> StreamFilter:
        return _BandwidthFilter(self, stream)


def _within_reason(size: float) -> int:
    return int(max(_LEAST_BYTES, min(_MOST_BYTES, size)))


class _BandwidthFilter(StreamFilter):
    __slots__ = ("_burst_s", "_last_at", "_line", "_note", "_piece", "_rate")

    def __init__(self, fault: Bandwidth, stream: Stream) -> None:
        super().__init__()
        self._rate = fault.rate_bps
        self._piece = fault.piece_bytes
        self._burst_s = fault.burst_bytes / self._rate
        self._line: dict[str, float] = stream.shared if fault.scope == "proxy" else {}
        self._last_at = stream.at
        self._note = stream.note
        self.read_size = _within_reason(self._rate * _READ_S)

    def feed(self, event: Event) -> Iterable[Event]:
        if not isinstance(event, Data):
            return (moved(event, max(event.at, self._last_at)),)
        payload, at = event.payload, event.at
        paid_until = max(self._line.get("paid_until", at - self._burst_s), at - self._burst_s)
        # What the burst covers goes as one piece: there is nothing to spread out.
        size = max(self._piece, round((at - paid_until) * self._rate))
        pieces: list[Event] = []
        begin = 0
        while begin < len(payload):
            piece = payload[begin : begin + size]
            begin += size
            size = self._piece
            paid_until += len(piece) / self._rate
            self._last_at = max(at, paid_until, self._last_at)
            pieces.append(Data(self._last_at, piece))
        self._line["paid_until"] = paid_until
        self.ready_at = paid_until - _LOOK_AHEAD_S
        if self._last_at - at >= _NOTICED_S:
            self._note("paced_bytes", len(payload))
        return pieces
