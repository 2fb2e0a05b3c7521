"""Axes: map values to shares of a length, with ticks at round numbers. Pure; it draws nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

_ROUND = (1, 2, 5, 10)
_WIDE = 25.0
"""From this ratio of the largest value to the median on, a linear axis would flatten most values."""
_MOST_LOG_TICKS = 7
_DEEPEST = 1e-6
"""A logarithmic axis reaches no further below its largest value."""
_TINY = 1e-9
"""Smaller values count as 0: no clock measures them."""
_HEADROOM = 1.03
"""A line along the very edge of its chart is hard to see."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values with its ticks, linear or logarithmic."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value between the ends, from 0 to 1; values beyond an end are clamped."""
        if self.log:
            if value <= self.low:
                return 0.0
            share = log10(value / self.low) / log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** floor(log10(least))
    # Some slack for rounding: 0.3 / 3 is a little more than 0.1.
    return next(power * digit for digit in (*_ROUND, 20) if power * digit >= least * (1 - 1e-9))


def linear_axis(top: float, most_ticks: int = 5) -> Axis:
    """Return an axis from 0 to the first tick at or above `top`."""
    if not isfinite(top) or top <= _TINY:
        return Axis(0.0, 1.0, (0.0, 1.0))
    step = round_step(top / most_ticks)
    count = max(1, ceil(top / step - 1e-9))
    return Axis(0.0, count * step, tuple(index * step for index in range(count + 1)))


def time_axis(duration_s: float, most_ticks: int = 6) -> Axis:
    """Return an axis from 0 to the duration itself, so that a share of the run is a share of the axis."""
    if not isfinite(duration_s) or duration_s <= 0:
        return Axis(0.0, 1.0, (0.0, 1.0))
    step = _clock_step(duration_s / most_ticks)
    count = floor(duration_s / step + 1e-9)
    return Axis(0.0, duration_s, tuple(index * step for index in range(count + 1)))


def _clock_step(least_s: float) -> float:
    """Return a step that is round on a clock: 15 s, 30 s, 1 min, 5 min."""
    steps = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 43200.0, 86400.0)
    if least_s <= 30:
        return next((each for each in (15.0, 30.0) if 10 < least_s <= each), None) or round_step(least_s)
    return next((step for step in steps if step >= least_s), None) or 86400.0 * round_step(least_s / 86400)


def log_axis(low: float, high: float) -> Axis:
    """Return a logarithmic axis whose ends are ticks; `low` must be above 0."""
    bottom, top = floor(log10(low)), ceil(log10(high) + 1e-12)
    fine = [digit * 10.0**power for power in range(bottom, top + 1) for digit in (1, 2, 5)]
    first = max(index for index, tick in enumerate(fine) if tick <= low * (1 + 1e-9))
    last = min(index for index, tick in enumerate(fine) if tick >= high * (1 - 1e-9) and index > first)
    ticks = tuple(fine[first : last + 1])
    if len(ticks) > _MOST_LOG_TICKS:
        ticks = tuple(10.0**power for power in range(bottom, max(top, bottom + 1) + 1))
    return Axis(ticks[0], ticks[-1], ticks, log=True)


def value_axis(values: Iterable[float], most_ticks: int = 5) -> Axis:
    """Return a linear axis from 0, or a logarithmic one if the largest value would flatten the median."""
    known = sorted(value for value in values if isfinite(value) and value > _TINY)
    if not known or known[-1] / known[len(known) // 2] < _WIDE:
        return linear_axis(known[-1] * _HEADROOM if known else 0.0, most_ticks)
    return log_axis(max(known[0], known[-1] * _DEEPEST), known[-1] * _HEADROOM)
