"""Samples: the measurements of each request, in columns. Plain data, filled by workers, read by summaries.

They are columns instead of objects because a run may have millions of requests, and appending to an array
costs some tens of nanoseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from math import nan
from typing import NamedTuple

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
    """0: no answer."""
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
assert tuple(each.name for each in fields(Samples)) == _COLUMNS
