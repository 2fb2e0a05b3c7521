"""How late bytes were released: the injection error, in microseconds.

Every release of the faulted path is recorded. A report can thus say when the machine was too busy
for its figures to mean anything. Histograms of several processes add up to what one would have seen.
"""

from __future__ import annotations

from dataclasses import dataclass

_SUB = 16
"""Buckets per doubling: a value is known to within 1/16."""


@dataclass(frozen=True, slots=True)
class LatenessSummary:
    """Microseconds; all zero when nothing was released."""

    count: int = 0
    p50_us: float = 0.0
    p99_us: float = 0.0
    max_us: float = 0.0
    early: int = 0
    """Releases before their time. It stays 0, and it is counted so that this can be checked."""


class Lateness:
    """A histogram with buckets that grow with the value; recording costs one list index."""

    __slots__ = ("_buckets", "_count", "_early", "_max_us")

    def __init__(self) -> None:
        self._buckets = [0] * (_SUB * 40)
        self._count = 0
        self._max_us = 0.0
        self._early = 0

    def record(self, seconds: float) -> None:
        micros = seconds * 1e6
        if micros < 0:
            self._early += 1
            micros = 0.0
        self._count += 1
        if micros > self._max_us:
            self._max_us = micros
        self._buckets[_bucket(int(micros))] += 1

    def add(self, other: Lateness) -> None:
        """Count what another one has recorded as if it had been recorded here."""
        self._buckets = [own + its for own, its in zip(self._buckets, other._buckets, strict=True)]
        self._count += other._count
        self._early += other._early
        self._max_us = max(self._max_us, other._max_us)

    def copy(self) -> Lateness:
        same = Lateness()
        same.add(self)
        return same

    def share_above(self, limit_us: float) -> float:
        """Of all releases, those that were later, as nearly as the buckets tell: one on the edge is not."""
        if not self._count:
            return 0.0
        return sum(self._buckets[_bucket(int(limit_us)) + 1 :]) / self._count

    def summary(self) -> LatenessSummary:
        return LatenessSummary(
            self._count, self._percentile(0.50), self._percentile(0.99), self._max_us, self._early
        )

    def _percentile(self, share: float) -> float:
        if not self._count:
            return 0.0
        wanted = share * self._count
        seen = 0
        for index, count in enumerate(self._buckets):
            seen += count
            if count and seen >= wanted:
                return min(_upper_edge(index), self._max_us)
        return self._max_us


def _bucket(micros: int) -> int:
    """Exact below 16 µs; above, sixteen buckets for each doubling."""
    if micros < _SUB:
        return micros
    shift = micros.bit_length() - 5
    return min(_SUB * (shift + 1) + (micros >> shift) - _SUB, _SUB * 40 - 1)


def _upper_edge(index: int) -> float:
    if index < _SUB:
        return float(index + 1)
    shift = index // _SUB - 1
    return float((index % _SUB + _SUB + 1) << shift)
