"""A histogram of times for more requests than one would keep: buckets as HdrHistogram has them. Pure.

Times are whole microseconds; 2,048 of them have buckets of their own, and each doubling beyond has
1,024 buckets more, so a time is known to three digits. Only buckets in use are kept, hence no
longest time and nothing is clamped. All state is whole numbers: merging loses nothing, and its
order does not matter.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import sqrt
from typing import overload

from faultkit.load.times import Times

_BITS = 11
"""A bucket's number keeps so many leading bits of the time: 2 × 10³ needs eleven."""
_HALF = 1 << (_BITS - 1)
_MICROS = 1_000_000


@dataclass(slots=True)
class Histogram:
    buckets: Counter[int] = field(default_factory=Counter)
    sum_us: int = 0
    square_sum_us: int = 0
    least_us: int | None = None
    most_us: int | None = None

    def __len__(self) -> int:
        return self.buckets.total()

    def record_all(self, values_s: Iterable[float]) -> None:
        """In bulk: sorted, the times of one doubling stand together and drop the same number of bits.
        A negative time counts as 0; `nan` is for the caller to leave out."""
        ordered = sorted(values_s)
        if not ordered:
            return
        if ordered[0] < 0:
            ordered = [max(value, 0.0) for value in ordered]
        micros = [int(value * 1e6 + 0.5) for value in ordered]
        start, shift = 0, 0
        while start < len(micros):
            end = bisect_left(micros, 1 << (_BITS + shift), start)
            first = shift << (_BITS - 1)
            self.buckets.update([first + (value >> shift) for value in micros[start:end]])
            start, shift = end, shift + 1
        self.sum_us += sum(micros)
        self.square_sum_us += sum([value * value for value in micros])
        self._stretch_to(micros[0], micros[-1])

    def merge(self, other: Histogram) -> None:
        if other.least_us is None or other.most_us is None:
            return
        self.buckets.update(other.buckets)
        self.sum_us += other.sum_us
        self.square_sum_us += other.square_sum_us
        self._stretch_to(other.least_us, other.most_us)

    def times(self) -> Times:
        """Mean and spread are exact to the microsecond; sorted values are the middles of their buckets."""
        count = len(self)
        if not count:
            return Times((), 0.0, 0.0)
        variance = 0.0
        if count > 1:
            variance = (count * self.square_sum_us - self.sum_us**2) / (count * (count - 1))
        return Times(self.ordered(), self.sum_us / count / _MICROS, sqrt(variance) / _MICROS)

    @property
    def sum_s(self) -> float:
        return self.sum_us / _MICROS

    def ordered(self) -> Sequence[float]:
        """All values in ascending order, without making them: a view of the histogram as it is now."""
        if self.least_us is None or self.most_us is None:
            return ()
        numbers = sorted(self.buckets)
        least, most = self.least_us, self.most_us
        middles = [min(max(_middle(number), least), most) / _MICROS for number in numbers]
        up_to = list(accumulate(self.buckets[number] for number in numbers))
        return _Ordered(middles, up_to, least / _MICROS, most / _MICROS)

    def _stretch_to(self, least_us: int, most_us: int) -> None:
        self.least_us = least_us if self.least_us is None else min(self.least_us, least_us)
        self.most_us = most_us if self.most_us is None else max(self.most_us, most_us)


def _middle(bucket: int) -> float:
    if bucket < 2 * _HALF:
        return float(bucket)
    shift = (bucket >> (_BITS - 1)) - 1
    lowest = (bucket - (shift << (_BITS - 1))) << shift
    return lowest + ((1 << shift) - 1) / 2


class _Ordered(Sequence[float]):
    """Value number k is that of the first bucket up to which more than k were counted; the extremes are
    known exactly."""

    __slots__ = ("_least", "_most", "_up_to", "_values")

    def __init__(self, values: list[float], up_to: list[int], least: float, most: float) -> None:
        self._values = values
        self._up_to = up_to
        self._least = least
        self._most = most

    def __len__(self) -> int:
        return self._up_to[-1]

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> list[float]: ...
    def __getitem__(self, index: int | slice) -> float | list[float]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        if number == 0:
            return self._least
        if number == len(self) - 1:
            return self._most
        return self._values[bisect_right(self._up_to, number)]
