"""Latency: bytes arrive later than they were sent.

The delay counts from the instant at which the bytes reached the proxy, so it adds to whatever time
the peer took and never overlaps it. Order is kept: what follows a late chunk waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.events import Data, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting
from faultkit.rng import Rng

_MAX_REDRAWS = 64
_MAX_DELAY_MS = 86_400_000.0
"""A day. A heavy tail may draw more than a clock can count, and infinity would mean a stall."""


@dataclass(frozen=True)
class Latency(StreamFault):
    kind: ClassVar[str] = "latency"
    summary: ClassVar[str] = "Bytes arrive later than they were sent."

    distribution: Literal["normal", "uniform", "pareto", "pareto-normal"] = setting(
        "normal",
        "How delays are drawn.",
        choices=("normal", "uniform", "pareto", "pareto-normal"),
    )
    per: Literal["connection", "operation"] = setting(
        "connection",
        "Delay the first bytes of a connection only, or every read.",
        choices=("connection", "operation"),
        flag="per-read-write",
        flag_sets="operation",
    )
    mean_ms: float = setting(100.0, "Mean (normal, pareto-normal).", unit="ms", minimum=0)
    stddev_ms: float = setting(
        0.0,
        "Standard deviation (normal, pareto-normal).",
        unit="ms",
        minimum=0,
        env="FAULT_LATENCY_STANDARD_DEVIATION",
    )
    shape: float = setting(0.0, "Tail index (pareto, pareto-normal); smaller is heavier.", minimum=0)
    scale_ms: float = setting(0.0, "Least delay (pareto, pareto-normal).", unit="ms", minimum=0)
    min_ms: float = setting(0.0, "Lower bound (uniform).", unit="ms", minimum=0)
    max_ms: float = setting(0.0, "Upper bound (uniform).", unit="ms", minimum=0)

    def check(self) -> None:
        if self.distribution == "uniform" and self.max_ms == 0:
            raise ValueError("max_ms: expected a number above 0 for uniform, got 0")
        if self.distribution == "uniform" and self.max_ms < self.min_ms:
            raise ValueError(f"max_ms: expected at least min_ms ({self.min_ms:g}), got {self.max_ms:g}")
        if self.distribution in ("pareto", "pareto-normal"):
            for name in ("shape", "scale_ms"):
                if getattr(self, name) <= 0:
                    raise ValueError(f"{name}: expected a number above 0 for {self.distribution}, got 0")

    @property
    def least_delay_ms(self) -> float | None:
        return {
            "normal": self.mean_ms,
            "uniform": self.min_ms,
            "pareto": self.scale_ms,
            "pareto-normal": self.scale_ms + self.mean_ms,
        }[self.distribution]

    def open(self, stream: Stream) -> StreamFilter:
        return _LatencyFilter(self, stream)

    def draw_ms(self, rng: Rng) -> float:
        """One delay. Negative normal draws are drawn again, as in the original tool."""
        if self.distribution == "uniform":
            return rng.between(self.min_ms, self.max_ms)
        tail_ms = 0.0 if self.distribution == "normal" else rng.pareto(self.scale_ms, self.shape)
        if self.distribution == "pareto":
            return tail_ms
        if self.stddev_ms == 0:
            return tail_ms + self.mean_ms
        for _ in range(_MAX_REDRAWS):
            delay_ms = tail_ms + rng.normal(self.mean_ms, self.stddev_ms)
            if delay_ms >= 0:
                return delay_ms
        return tail_ms


class _LatencyFilter(StreamFilter):
    __slots__ = ("_delay_s", "_fault", "_last_at", "_stream")

    def __init__(self, fault: Latency, stream: Stream) -> None:
        super().__init__()
        self.blind = True
        self._fault = fault
        self._stream = stream
        self._last_at = stream.at
        self._delay_s: float | None = None

    def feed(self, event: Event) -> Iterable[Event]:
        at = event.at
        if isinstance(event, Data) and (self._delay_s is None or self._fault.per == "operation"):
            delay_ms = min(self._fault.draw_ms(self._stream.rng), _MAX_DELAY_MS)
            self._stream.note("delay_ms", delay_ms)
            self._delay_s = delay_ms / 1000
            at += self._delay_s
        self._last_at = at = max(at, self._last_at)
        return (moved(event, at),)
