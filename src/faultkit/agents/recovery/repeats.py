"""What many runs of the same say: shares with their intervals, pass^k, and what faults cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from faultkit.base.intervals import Interval, proportion_interval


@dataclass(frozen=True, slots=True)
class Share:
    hits: int
    total: int
    interval: Interval
    """Wilson's, at 95 %."""

    @property
    def value(self) -> float | None:
        return self.hits / self.total if self.total else None


def share_of(results: Sequence[bool]) -> Share:
    hits = sum(results)
    return Share(hits, len(results), proportion_interval(hits, len(results)))


def pass_hat_k(passed: int, runs: int, k: int) -> float | None:
    """How likely k runs in a row all pass, without bias: the share of the ways to choose k of these runs that
    holds none that failed. None if there are fewer than k."""
    if not 1 <= k <= runs:
        return None
    return comb(passed, k) / comb(runs, k)


def retention(with_fault: Share, clean: Share) -> float | None:
    """What share of the clean success is left under the fault; None if nothing succeeds even without."""
    if not clean.value or with_fault.value is None:
        return None
    return with_fault.value / clean.value
