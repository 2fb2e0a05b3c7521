"""Distributions of delays, for every fault that draws them.

The faults have the settings, under the names below; checks and draws are here.
"""

from __future__ import annotations

import math
from typing import Protocol

from faultkit.base.rng import Rng
from faultkit.faults.delay_table import DelayTable, delay_table

MOST_DELAY_MS = 86_400_000.0
"""A day. A heavy tail may draw more than a clock can count, and infinity would mean a stall."""
_MAX_REDRAWS = 64


class Distributed(Protocol):
    """A fault whose delays are drawn."""

    @property
    def distribution(self) -> str: ...
    @property
    def mean_ms(self) -> float: ...
    @property
    def stddev_ms(self) -> float: ...
    @property
    def shape(self) -> float: ...
    @property
    def scale_ms(self) -> float: ...
    @property
    def min_ms(self) -> float: ...
    @property
    def max_ms(self) -> float: ...


class Tabled(Distributed, Protocol):
    """A fault whose delays may also come from a table of percentiles."""

    @property
    def percentiles(self) -> tuple[tuple[str, float], ...]: ...
    @property
    def interpolation(self) -> str: ...
    @property
    def samples(self) -> str | None: ...


def check_table(fault: Tabled) -> None:
    """Raise ValueError if the settings of a table do not fit, or one is given without `table`."""
    if fault.samples is not None:
        if fault.percentiles:
            raise ValueError("percentiles: expected none beside samples, got both")
        # A loader of files replaces them by percentiles; see `plan.delay_samples`.
        raise ValueError(
            "samples: expected only in a file of a plan or a scenario or a flag, which read it where it is "
            f"(percentiles may be given everywhere), got {fault.samples!r}"
        )
    if fault.distribution == "table":
        table_of(fault)
    elif fault.percentiles:
        raise ValueError(
            f"distribution: expected table beside percentiles or samples, got {fault.distribution!r}"
        )


def table_of(fault: Tabled) -> DelayTable:
    """Return the table of a fault. Raises ValueError if its percentiles make none."""
    return delay_table(fault.percentiles, is_log=fault.interpolation == "log", most_ms=MOST_DELAY_MS)


def fixed_ms(fault: Distributed) -> float | None:
    """Return the delay if all draws give the same, so that none has to be made."""
    is_fixed = fault.distribution == "normal" and fault.stddev_ms == 0
    return min(fault.mean_ms, MOST_DELAY_MS) if is_fixed else None


def drawn_ms(fault: Tabled, rng: Rng) -> float:
    """Draw one delay, from the table if there is one."""
    return table_of(fault).draw_ms(rng) if fault.distribution == "table" else draw_ms(fault, rng)


def least_drawn_ms(fault: Tabled) -> float:
    """Return the least delay of the table, or the least that the settings usually give."""
    return table_of(fault).delays_ms[0] if fault.distribution == "table" else least_ms(fault)


def check_distribution(fault: Distributed) -> None:
    """Raise ValueError if the settings do not make a distribution."""
    if fault.distribution == "uniform" and fault.max_ms == 0:
        raise ValueError("max_ms: expected a number above 0 for uniform, got 0")
    if fault.distribution == "uniform" and fault.max_ms < fault.min_ms:
        raise ValueError(f"max_ms: expected at least min_ms ({fault.min_ms:g}), got {fault.max_ms:g}")
    if fault.distribution in ("pareto", "pareto-normal"):
        for name in ("shape", "scale_ms"):
            if getattr(fault, name) <= 0:
                raise ValueError(f"{name}: expected a number above 0 for {fault.distribution}, got 0")


def least_ms(fault: Distributed) -> float:
    """Return the least delay that the settings usually give."""
    return {
        "uniform": fault.min_ms,
        "pareto": fault.scale_ms,
        "pareto-normal": fault.scale_ms + fault.mean_ms,
    }.get(fault.distribution, fault.mean_ms)


def drawn_mean_ms(fault: Distributed) -> float:
    """Return the mean of the delays that are drawn: that of the settings, or more where a normal distribution
    is cut off at 0."""
    if fault.distribution == "uniform":
        return (fault.min_ms + fault.max_ms) / 2
    if fault.distribution != "normal" or fault.stddev_ms == 0:
        return fault.mean_ms
    cut = -fault.mean_ms / fault.stddev_ms
    density = math.exp(-cut * cut / 2) / math.sqrt(2 * math.pi)
    return fault.mean_ms + fault.stddev_ms * density / (math.erfc(cut / math.sqrt(2)) / 2)


def mean_caveat(fault: Distributed) -> str | None:
    """Return what is to be known about the mean of the delays, if it is not the one of the settings."""
    if fault.distribution != "normal" or fault.stddev_ms <= fault.mean_ms / 2:
        return None
    return (
        f"delays below 0 are drawn again, so that their mean is {drawn_mean_ms(fault):.1f} ms, not "
        f"{fault.mean_ms:g} ms (stddev is over half of it)"
    )


def draw_ms(fault: Distributed, rng: Rng) -> float:
    """Draw one delay. Negative normal draws are drawn again, as in the original tool."""
    if fault.distribution == "uniform":
        return rng.between(fault.min_ms, fault.max_ms)
    tail_ms = 0.0 if fault.distribution == "normal" else rng.pareto(fault.scale_ms, fault.shape)
    if fault.distribution == "pareto":
        return tail_ms
    if fault.stddev_ms == 0:
        return tail_ms + fault.mean_ms
    for _ in range(_MAX_REDRAWS):
        delay_ms = tail_ms + rng.normal(fault.mean_ms, fault.stddev_ms)
        if delay_ms >= 0:
            return delay_ms
    return tail_ms
