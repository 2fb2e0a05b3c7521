"""Delays from a table of percentiles, as production has them.

Between two percentiles the delays are spread evenly (linear) or evenly in their logarithm (log). Below the
first one they are as the first, above the last as the last: nothing is invented outside the table. `p0` and
`p100`, which may be written `min` and `max`, give the ends.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from faultkit.base.rng import Rng

_ENDS = {"min": 0.0, "max": 100.0}


@dataclass(frozen=True, slots=True)
class DelayTable:
    """Percentiles in ascending order, from 0 to 100, with their delays."""

    percents: tuple[float, ...]
    delays_ms: tuple[float, ...]
    is_log: bool

    def delay_ms(self, percent: float) -> float:
        """Return the delay at a percentile."""
        place = bisect_right(self.percents, percent)
        if place == len(self.percents):
            return self.delays_ms[-1]
        low, high = self.delays_ms[place - 1], self.delays_ms[place]
        begin, end = self.percents[place - 1], self.percents[place]
        share = (percent - begin) / (end - begin)
        if self.is_log and low > 0:
            return float(low * (high / low) ** share)
        return low + (high - low) * share

    def mean_ms(self) -> float:
        """Return the mean of the delays that are drawn."""
        return sum(self._parts()) / 100

    def draw_ms(self, rng: Rng) -> float:
        """Draw one delay."""
        return self.delay_ms(rng.uniform() * 100)

    def _parts(self) -> Iterator[float]:
        points = list(zip(self.percents, self.delays_ms, strict=True))
        for (begin, low), (end, high) in pairwise(points):
            if self.is_log and 0 < low < high:
                yield (end - begin) * (high - low) / math.log(high / low)
            else:
                yield (end - begin) * (low + high) / 2


@lru_cache(256)
def delay_table(percentiles: tuple[tuple[str, float], ...], *, is_log: bool, most_ms: float) -> DelayTable:
    """Return the table of `p50`, `p99.9`, `max` …, in any order. Raises ValueError about `percentiles`."""
    found: dict[float, tuple[str, float]] = {}
    for name, delay_ms in percentiles:
        percent = _percent(name)
        if percent is None:
            raise ValueError(f"percentiles: expected names such as p50, p99.9 or max, got {name!r}")
        if percent in found:
            raise ValueError(
                f"percentiles: expected each percentile once, got {found[percent][0]} and {name}"
            )
        if not 0 <= delay_ms <= most_ms:
            raise ValueError(f"percentiles: expected 0 to {most_ms:,.0f} ms for {name}, got {delay_ms:g}")
        found[percent] = (name, delay_ms)
    if not found:
        raise ValueError("percentiles: expected at least one, such as p50: 20, for table, got none")
    ordered = sorted(found.items())
    for (_, (below, low)), (_, (above, high)) in pairwise(ordered):
        if high < low:
            raise ValueError(
                f"percentiles: expected delays that never decrease, got {below} {low:g} and {above} {high:g}"
            )
    points = [(percent, delay_ms) for percent, (_, delay_ms) in ordered]
    if points[0][0] > 0:
        points.insert(0, (0.0, points[0][1]))
    if points[-1][0] < 100:
        points.append((100.0, points[-1][1]))
    return DelayTable(tuple(p for p, _ in points), tuple(ms for _, ms in points), is_log)


def _percent(name: str) -> float | None:
    if name in _ENDS:
        return _ENDS[name]
    try:
        percent = float(name.removeprefix("p"))
    except ValueError:
        return None
    return percent if name.startswith("p") and 0 <= percent <= 100 else None
