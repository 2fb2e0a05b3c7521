"""Windows: a run cut into pieces by the intended starts of its requests. Pure.

The timeline of a report, the windows of objectives and the estimate of how much requests depend on each other
are all made of these. A `WindowCase` adds assumed outcomes of the arrivals that were never sent: an objective
is met or missed only if its best and its worst case agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, fsum, inf
from typing import overload

from faultkit.load.samples import Samples

_WIDTHS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_FEWEST_SLICES = 10
_MOST_SLICES = 120
HAIR_S = 1e-6
"""Times this close before an edge count as on it: instants are differences of clock readings, and tenths of a
second are not exact in binary."""


@dataclass(frozen=True, slots=True)
class Window:
    """The requests that were to start within one piece of the run."""

    start_s: float
    response: Sequence[float]
    """Response times of all its requests, ascending, in seconds."""
    answered: Sequence[float]
    """Response times of those that did not fail, ascending."""
    sum_s: float
    """Sum of all response times."""

    @property
    def errors(self) -> int:
        return len(self.response) - len(self.answered)


def windows(samples: Samples, width_s: float, count: int) -> list[Window]:
    """Cut a run into windows of one width. The last one takes all that follows, so each request is in exactly
    one."""
    last = count - 1
    numbers = [min(int((intended + HAIR_S) / width_s), last) for intended in samples.intended]
    return _cut(samples, [number * width_s for number in range(count)], numbers)


def batches(samples: Samples, count: int) -> list[Window]:
    """Cut a run into at most `count` windows of about as many requests each. Those of one instant stay
    together."""
    ordered = sorted(samples.intended)
    starts_s = sorted({ordered[len(ordered) * number // count] for number in range(count)}) if ordered else []
    return _cut(samples, starts_s, [bisect_right(starts_s, each) - 1 for each in samples.intended])


def _cut(samples: Samples, starts_s: Sequence[float], numbers: Iterable[int]) -> list[Window]:
    """`numbers`: of the window of each request."""
    answered: list[list[float]] = [[] for _ in starts_s]
    failed: list[list[float]] = [[] for _ in starts_s]
    for number, time, failure in zip(numbers, samples.response_times(), samples.failure, strict=True):
        (failed if failure else answered)[number].append(time)
    return [
        _window(start_s, sorted(good), bad)
        for start_s, good, bad in zip(starts_s, answered, failed, strict=True)
    ]


def _window(start_s: float, answered: list[float], failed: list[float]) -> Window:
    response = sorted(answered + failed) if failed else answered
    return Window(start_s, response, answered, fsum(response))


def window_count(run_s: float, window_s: float) -> int:
    """Return how many windows a run has; a last one shorter than half joins the one before."""
    return max(1, floor((run_s + HAIR_S) / window_s + 0.5))


def slice_width(run_s: float) -> float:
    """Return the width of a timeline's slices: a second, unless that makes too few or too many."""
    if run_s < _FEWEST_SLICES:
        return max((width for width in _WIDTHS_S if width <= run_s / _FEWEST_SLICES), default=_WIDTHS_S[0])
    return min(
        (width for width in _WIDTHS_S if width >= max(1.0, run_s / _MOST_SLICES)),
        default=run_s / _MOST_SLICES,
    )


def grained(width_s: float, grain_s: float) -> float:
    """Return the least multiple of `grain_s` that is no shorter than `width_s`; with 0, `width_s` itself."""
    return ceil(width_s / grain_s) * grain_s if grain_s else width_s


@dataclass(frozen=True, slots=True)
class WindowCase:
    """A window with assumed outcomes of its dropped arrivals."""

    seen: Window
    good: int = 0
    """Dropped arrivals assumed to be answered at once."""
    bad: int = 0
    """Dropped arrivals assumed never to be answered."""

    @property
    def total(self) -> int:
        return len(self.seen.response) + self.good + self.bad

    def within(self, threshold_ms: float | None) -> int:
        """Return how many requests were answered without error, and within the threshold."""
        answered = self.seen.answered
        if threshold_ms is None:
            return self.good + len(answered)
        return self.good + bisect_right(answered, threshold_ms / 1000)

    def waits(self) -> Sequence[float]:
        """Return response times in seconds, ascending. A failed request counts as infinite, however soon it
        failed."""
        return _Waits(self)


class _Waits(Sequence[float]):
    __slots__ = ("_answered", "_good", "_total")

    def __init__(self, case: WindowCase) -> None:
        self._answered = case.seen.answered
        self._good = case.good
        self._total = case.total

    def __len__(self) -> int:
        return self._total

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> list[float]: ...
    def __getitem__(self, index: int | slice) -> float | list[float]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(self._total)[index] - self._good
        if number < 0:
            return 0.0
        return self._answered[number] if number < len(self._answered) else inf
