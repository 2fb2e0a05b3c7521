"""A histogram of times, for runs with too many requests to keep each time: buckets like HdrHistogram. Pure.

Times are whole microseconds; 2,048 of them have buckets of their own, and each doubling beyond has
1,024 buckets more, so a time is known to three digits. There is no upper limit, and no time is clamped. All
state is whole numbers: merging loses nothing, and its order does not matter.

The counts of 1,024 buckets are one large number with a field of 64 bits for each, so that adding two of these
adds 1,024 counts at once, at the speed of C. Merging a thousand histograms takes a few milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress
from math import fsum, sqrt
from struct import Struct
from typing import overload

_BITS = 11
"""A bucket's number keeps this number of leading bits of the time: 2 × 10³ needs eleven."""
_HALF = 1 << (_BITS - 1)
_BLOCK = Struct(f"<{_HALF}Q")
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Times:
    """Sorted times with their mean and standard deviation."""

    ordered: Sequence[float]
    """Ascending, in seconds."""
    mean_s: float
    stddev_s: float
    """Of a sample (n − 1); 0 for fewer than two."""


def times_of(values: Iterable[float]) -> Times:
    """Sort the values and sum them exactly: the same figures in whatever order the values come."""
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        return Times(ordered, 0.0, 0.0)
    mean = fsum(ordered) / count
    squares = fsum([(apart := value - mean) * apart for value in ordered])
    return Times(ordered, mean, sqrt(squares / (count - 1)) if count > 1 else 0.0)


@dataclass(slots=True)
class Histogram:
    """Counts of times by bucket, with exact sums and extremes."""

    blocks: dict[int, int] = field(default_factory=dict)
    """Counts of 1,024 buckets each, packed; number k begins with bucket 1,024·k."""
    count: int = 0
    sum_us: int = 0
    square_sum_us: int = 0
    least_us: int | None = None
    most_us: int | None = None

    def __len__(self) -> int:
        return self.count

    @property
    def buckets(self) -> Counter[int]:
        """The counts by bucket, in ascending order; those of buckets in use only."""
        return Counter(dict(self._items()))

    def record_all(self, values_s: Iterable[float]) -> None:
        """Count all values. A negative time counts as 0; values must not be nan.

        Values are sorted first: then all times of one doubling are a slice, which is counted in one call."""
        ordered = sorted(values_s)
        if not ordered:
            return
        if ordered[0] < 0:
            ordered = [max(value, 0.0) for value in ordered]
        micros = [int(value * 1e6 + 0.5) for value in ordered]
        buckets: Counter[int] = Counter()
        start, shift = 0, 0
        while start < len(micros):
            end = bisect_left(micros, 1 << (_BITS + shift), start)
            first = shift << (_BITS - 1)
            buckets.update([first + (value >> shift) for value in micros[start:end]])
            start, shift = end, shift + 1
        self._add_blocks(_packed(buckets))
        self.count += len(micros)
        self.sum_us += sum(micros)
        self.square_sum_us += sum([value * value for value in micros])
        self._stretch_to(micros[0], micros[-1])

    def merge(self, other: Histogram) -> None:
        if other.least_us is None or other.most_us is None:
            return
        self._add_blocks(other.blocks)
        self.count += other.count
        self.sum_us += other.sum_us
        self.square_sum_us += other.square_sum_us
        self._stretch_to(other.least_us, other.most_us)

    def times(self) -> Times:
        """Return the recorded times: mean and deviation are exact, values are the middles of buckets."""
        count = self.count
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
        """Return all values in ascending order, as a view of the present counts without a list of them."""
        if self.least_us is None or self.most_us is None:
            return ()
        least, most = self.least_us, self.most_us
        items = list(self._items())
        middles = [min(max(_middle(number), least), most) / _MICROS for number, _ in items]
        up_to = list(accumulate(count for _, count in items))
        return _Ordered(middles, up_to, least / _MICROS, most / _MICROS)

    def _add_blocks(self, blocks: dict[int, int]) -> None:
        mine = self.blocks
        for number, packed in blocks.items():
            mine[number] = mine.get(number, 0) + packed

    def _items(self) -> Iterator[tuple[int, int]]:
        """Yield the buckets in use with their counts, ascending."""
        for number in sorted(self.blocks):
            counts = _BLOCK.unpack(self.blocks[number].to_bytes(_BLOCK.size, "little"))
            first = number * _HALF
            yield from zip(
                compress(range(first, first + _HALF), counts), compress(counts, counts), strict=True
            )

    def _stretch_to(self, least_us: int, most_us: int) -> None:
        self.least_us = least_us if self.least_us is None else min(self.least_us, least_us)
        self.most_us = most_us if self.most_us is None else max(self.most_us, most_us)


def _packed(buckets: Counter[int]) -> dict[int, int]:
    """Return counts as blocks."""
    counts: dict[int, list[int]] = {}
    for bucket, count in buckets.items():
        number, place = divmod(bucket, _HALF)
        if number not in counts:
            counts[number] = [0] * _HALF
        counts[number][place] = count
    return {number: int.from_bytes(_BLOCK.pack(*each), "little") for number, each in counts.items()}


def _middle(bucket: int) -> float:
    if bucket < 2 * _HALF:
        return float(bucket)
    shift = (bucket >> (_BITS - 1)) - 1
    lowest = (bucket - (shift << (_BITS - 1))) << shift
    return lowest + ((1 << shift) - 1) / 2


class _Ordered(Sequence[float]):
    """A view of a histogram as sorted values. The extremes are exact.

    Value number k is that of the first bucket whose cumulative count exceeds k."""

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
