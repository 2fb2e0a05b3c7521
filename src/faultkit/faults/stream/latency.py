"""Latency: bytes arrive later than they were sent.

The delay counts from the instant at which the bytes reached the proxy, so it adds to the time that the peer
took. Order is kept: bytes that follow a late chunk wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.distribution import (
    MOST_DELAY_MS,
    check_distribution,
    check_table,
    drawn_ms,
    fixed_ms,
    least_drawn_ms,
    mean_caveat,
)
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream_filters import DelayFilter


@dataclass(frozen=True)
class Latency(StreamFault):
    kind: ClassVar[str] = "latency"
    summary: ClassVar[str] = "Bytes arrive later than they were sent."

    distribution: Literal["normal", "uniform", "pareto", "pareto-normal", "table"] = setting(
        "normal",
        "How delays are drawn.",
        choices=("normal", "uniform", "pareto", "pareto-normal", "table"),
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
        "Standard deviation (normal, pareto-normal). Delays below 0 are drawn again, so a value over half "
        "of the mean raises the mean.",
        unit="ms",
        minimum=0,
        env="FAULT_LATENCY_STANDARD_DEVIATION",
    )
    shape: float = setting(0.0, "Tail index (pareto, pareto-normal); smaller is heavier.", minimum=0)
    scale_ms: float = setting(0.0, "Least delay (pareto, pareto-normal).", unit="ms", minimum=0)
    min_ms: float = setting(0.0, "Lower bound (uniform).", unit="ms", minimum=0)
    max_ms: float = setting(0.0, "Upper bound (uniform).", unit="ms", minimum=0)
    percentiles: tuple[tuple[str, float], ...] = setting(
        (), "Delays in ms by percentile (table): p50, p99.9, min, max …; they never decrease."
    )
    interpolation: Literal["linear", "log"] = setting(
        "linear", "How delays lie between two percentiles (table).", choices=("linear", "log")
    )
    samples: str | None = setting(
        None,
        "File with delays that were measured, instead of percentiles (table): one a line, CSV, an "
        "HdrHistogram log, or results.json.",
    )
    samples_unit: Literal["ms", "s", "us", "ns"] = setting(
        "ms", "Unit of the numbers in that file.", choices=("ms", "s", "us", "ns")
    )

    def check(self) -> None:
        check_distribution(self)
        check_table(self)

    @property
    def least_delay_ms(self) -> float | None:
        return least_drawn_ms(self)

    def caveat(self) -> str | None:
        return mean_caveat(self)

    def open(self, stream: Stream) -> StreamFilter:
        return _LatencyFilter(self, stream)

    @property
    def fixed_ms(self) -> float | None:
        """The delay, if all draws give the same."""
        return fixed_ms(self) if type(self).draw_ms is Latency.draw_ms else None

    def draw_ms(self, rng: Rng) -> float:
        """Draw one delay."""
        return drawn_ms(self, rng)


class _LatencyFilter(DelayFilter):
    __slots__ = ("_draws", "_each_ms", "_fault", "_note", "_rng")

    def __init__(self, fault: Latency, stream: Stream) -> None:
        super().__init__(stream)
        self._fault = fault
        self._each_ms = None if fault.per == "connection" else fault.fixed_ms
        self._rng = stream.rng
        self._note = stream.note
        self._draws = True

    def due(self, at: float) -> float:
        each_ms = self._each_ms
        if each_ms is None:
            return super().due(at)
        # The same without calls and draws, since it runs for each read.
        self._note("delay_ms", each_ms)
        at += each_ms / 1000
        if at < self._last_at:
            return self._last_at
        self._last_at = at
        return at

    def delay_s(self, at: float) -> float:
        if not self._draws:
            return 0.0
        if self._fault.per == "connection":
            self._draws = False
        delay_ms = min(self._fault.draw_ms(self._rng), MOST_DELAY_MS)
        self._note("delay_ms", delay_ms)
        return delay_ms / 1000
