"""One distribution of times: sorted, with its mean and spread. Pure.

Whether the sorted values are a list or a view of a histogram makes no difference to who reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt


@dataclass(frozen=True, slots=True)
class Times:
    ordered: Sequence[float]
    """Ascending, in seconds."""
    mean_s: float
    stddev_s: float
    """Of a sample (n − 1); 0 for fewer than two."""


def times_of(values: Iterable[float]) -> Times:
    """Exact sums: the same figures in whatever order the values come."""
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        return Times(ordered, 0.0, 0.0)
    mean = fsum(ordered) / count
    squares = fsum([(apart := value - mean) * apart for value in ordered])
    return Times(ordered, mean, sqrt(squares / (count - 1)) if count > 1 else 0.0)
