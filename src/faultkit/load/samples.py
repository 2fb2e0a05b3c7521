"""Samples: the measurements of each request; and windows: a run cut into pieces by intended starts. Pure.

Samples are columns instead of objects because a run may have millions of requests, and appending to an array
costs some tens of nanoseconds. Workers fill them, summaries read them.

The timeline of a report, the windows of objectives, and the estimate of how much requests depend on each
other are all made of windows. A `WindowCase` adds assumed outcomes of the arrivals that were never sent: an
objective is met or missed only if its best and its worst case agree.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from math import ceil, floor, fsum, inf, nan
from typing import NamedTuple, overload

from faultkit.load.item_figures import ItemFigures, merged
from faultkit.load.response import Failure


def _seconds() -> array[float]:
    return array("d")


class Sample(NamedTuple):
    """The measurements of one request. Times are in seconds; `nan` for a part that did not take place."""

    intended: float
    """Intended start, counted from the start of the run."""
    started: float
    """Actual start: of the connection, or of the request on a connection that was kept."""
    total_s: float
    """From `started` to the end of the answer, or to the failure."""
    first_byte_s: float = nan
    """From `started` to the first byte of the answer."""
    dns_s: float = nan
    connect_s: float = nan
    tls_s: float = nan
    status: int = 0
    """HTTP status; 0 if there was no response."""
    failure: int = Failure.NONE
    received: int = 0
    """Bytes of the answer, head and body."""


@dataclass(slots=True)
class Samples:
    """Equally long columns, named as the fields of `Sample`."""

    intended: array[float] = field(default_factory=_seconds)
    started: array[float] = field(default_factory=_seconds)
    total_s: array[float] = field(default_factory=_seconds)
    first_byte_s: array[float] = field(default_factory=_seconds)
    dns_s: array[float] = field(default_factory=_seconds)
    connect_s: array[float] = field(default_factory=_seconds)
    tls_s: array[float] = field(default_factory=_seconds)
    status: array[int] = field(default_factory=lambda: array("H"))
    failure: array[int] = field(default_factory=lambda: array("B"))
    received: array[int] = field(default_factory=lambda: array("Q"))
    figures: ItemFigures | None = None
    """What only event streams and calls of MCP have; no column."""

    def __len__(self) -> int:
        return len(self.intended)

    def __iter__(self) -> Iterator[Sample]:
        return map(Sample._make, zip(*(getattr(self, name) for name in _COLUMNS), strict=True))

    def append(self, sample: Sample) -> None:
        """Add one row."""
        for name, value in zip(_COLUMNS, sample, strict=True):
            getattr(self, name).append(value)

    def extend(self, other: Samples) -> None:
        """Add all rows of another table."""
        for name in _COLUMNS:
            getattr(self, name).extend(getattr(other, name))
        self.figures = merged(self.figures, other.figures)

    def pieces(self, size: int) -> Iterator[Samples]:
        """Yield copies of `size` rows each; the last one may have fewer."""
        for start in range(0, len(self), size):
            yield Samples(*(getattr(self, name)[start : start + size] for name in _COLUMNS))

    def response_times(self) -> list[float]:
        """Return the seconds from intended start to end, which is what a user waits."""
        return [s + t - i for i, s, t in zip(self.intended, self.started, self.total_s, strict=True)]

    @classmethod
    def of(cls, rows: Iterable[Sample]) -> Samples:
        """Return a table of these rows."""
        samples = cls()
        for row in rows:
            samples.append(row)
        return samples


_COLUMNS = Sample._fields
assert tuple(each.name for each in fields(Samples)) == (*_COLUMNS, "figures")


# --- windows ---------------------------------------------------------------------------------

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
    """Return the windows; `numbers` has the number of each request's window."""
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
