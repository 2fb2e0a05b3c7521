"""Stretches: a run cut into pieces by the intended starts of its requests. Pure.

The timeline of a report and the windows of objectives are both made of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from faultkit.load.samples import Samples

_WIDTHS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_FEWEST_SLICES = 10
_MOST_SLICES = 120


@dataclass(frozen=True, slots=True)
class Stretch:
    start_s: float
    response: Sequence[float]
    """Response times of all its requests, ascending, in seconds."""
    answered: Sequence[float]
    """Of those that did not fail."""

    @property
    def errors(self) -> int:
        return len(self.response) - len(self.answered)


def stretches(samples: Samples, width_s: float, count: int) -> list[Stretch]:
    """The last stretch takes all that follows, so every request is in exactly one."""
    answered: list[list[float]] = [[] for _ in range(count)]
    failed: list[list[float]] = [[] for _ in range(count)]
    last = count - 1
    for intended, time, failure in zip(
        samples.intended, samples.response_times(), samples.failure, strict=True
    ):
        (failed if failure else answered)[min(int(intended / width_s), last)].append(time)
    return [
        _stretch(number * width_s, sorted(good), bad)
        for number, (good, bad) in enumerate(zip(answered, failed, strict=True))
    ]


def _stretch(start_s: float, answered: list[float], failed: list[float]) -> Stretch:
    return Stretch(start_s, sorted(answered + failed) if failed else answered, answered)


def window_count(run_s: float, window_s: float) -> int:
    """How many windows a run has; a last one shorter than half joins the one before."""
    return max(1, floor(run_s / window_s + 0.5))


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
