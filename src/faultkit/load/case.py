"""Case: what was seen of a stretch of a run, and what arrivals that were never sent might have been. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import overload

from faultkit.load.stretch import Stretch


@dataclass(frozen=True, slots=True)
class Case:
    seen: Stretch
    good: int = 0
    """So many more, answered at once."""
    bad: int = 0
    """So many more, never answered."""

    @property
    def total(self) -> int:
        return len(self.seen.response) + self.good + self.bad

    def within(self, threshold_ms: float | None) -> int:
        """Requests that were answered without error, and within the threshold."""
        answered = self.seen.answered
        if threshold_ms is None:
            return self.good + len(answered)
        return self.good + bisect_right(answered, threshold_ms / 1000)

    def waits(self) -> Sequence[float]:
        """Response times in seconds, ascending. Who gets no answer waits forever, however soon it failed."""
        return _Waits(self)


class _Waits(Sequence[float]):
    __slots__ = ("_answered", "_good", "_total")

    def __init__(self, case: Case) -> None:
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
