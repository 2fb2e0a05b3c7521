"""Stretches: a run cut into pieces by the intended starts of its requests. Pure.

The timeline of a report and the windows of objectives are both made of these, and so is what is known
about the dependence of requests on each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, fsum

from faultkit.load.samples import Samples

_WIDTHS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_FEWEST_SLICES = 10
_MOST_SLICES = 120
HAIR_S = 1e-6
"""So little before an edge is on it: instants come from a clock that counts from elsewhere, and tenths of
a second are no binary numbers."""


@dataclass(frozen=True, slots=True)
class Stretch:
    start_s: float
    response: Sequence[float]
    """Response times of all its requests, ascending, in seconds."""
    answered: Sequence[float]
    """Of those that did not fail."""
    sum_s: float
    """Of all response times."""

    @property
    def errors(self) -> int:
        return len(self.response) - len(self.answered)


def stretches(samples: Samples, width_s: float, count: int) -> list[Stretch]:
    """The last stretch takes all that follows, so every request is in exactly one."""
    last = count - 1
    numbers = [min(int((intended + HAIR_S) / width_s), last) for intended in samples.intended]
    return _cut(samples, [number * width_s for number in range(count)], numbers)


def batches(samples: Samples, count: int) -> list[Stretch]:
    """At most `count` stretches with about as many requests each. Those of one instant stay together."""
    ordered = sorted(samples.intended)
    starts_s = sorted({ordered[len(ordered) * number // count] for number in range(count)}) if ordered else []
    return _cut(samples, starts_s, [bisect_right(starts_s, each) - 1 for each in samples.intended])


def _cut(samples: Samples, starts_s: Sequence[float], numbers: Iterable[int]) -> list[Stretch]:
    """`numbers`: of the stretch of each request."""
    answered: list[list[float]] = [[] for _ in starts_s]
    failed: list[list[float]] = [[] for _ in starts_s]
    for number, time, failure in zip(numbers, samples.response_times(), samples.failure, strict=True):
        (failed if failure else answered)[number].append(time)
    return [
        _stretch(start_s, sorted(good), bad)
        for start_s, good, bad in zip(starts_s, answered, failed, strict=True)
    ]


def _stretch(start_s: float, answered: list[float], failed: list[float]) -> Stretch:
    response = sorted(answered + failed) if failed else answered
    return Stretch(start_s, response, answered, fsum(response))


def window_count(run_s: float, window_s: float) -> int:
    """How many windows a run has; a last one shorter than half joins the one before."""
    return max(1, floor((run_s + HAIR_S) / window_s + 0.5))


def slice_width(run_s: float) -> float:
    """Of a timeline: a second, unless that makes too few slices or too many."""
    if run_s < _FEWEST_SLICES:
        return max((width for width in _WIDTHS_S if width <= run_s / _FEWEST_SLICES), default=_WIDTHS_S[0])
    return min(
        (width for width in _WIDTHS_S if width >= max(1.0, run_s / _MOST_SLICES)),
        default=run_s / _MOST_SLICES,
    )


def grained(width_s: float, grain_s: float) -> float:
    """The least multiple of `grain_s` that is no shorter; 0 is the finest grain of all."""
    return ceil(width_s / grain_s) * grain_s if grain_s else width_s
