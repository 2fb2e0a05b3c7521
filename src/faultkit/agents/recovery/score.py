"""What one recovery was, from its points in time, and the share of many runs that passed. Pure.

`score_recovery` is total: it raises for no input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from faultkit.base.sample_statistics import Interval, proportion_interval


@dataclass(frozen=True, slots=True)
class RecoveryObservation:
    """The points in time of one recovery, in milliseconds of one clock."""

    call_start_ms: int
    detected_ms: int | None
    """When the caller noticed the failure; None if never."""
    recovered_ms: int | None
    """When the run had recovered; None if never."""
    timeout_budget_ms: int
    """Longest time until a caller should notice."""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """Whether and when one failure was noticed and recovered from.

    The score of 0 to 100 that ranks agents is computed from it in `agents.ranking`."""

    detected: bool
    recovered: bool
    clean_timeout: bool
    """The failure was noticed within the budget."""
    time_to_detection_ms: int | None
    """From the start of the call."""
    time_to_recovery_ms: int | None
    """From the start of the call."""


def score_recovery(observation: RecoveryObservation) -> RecoveryReport:
    """Score one recovery.

    A point in time before the one that it must follow counts as absent, so that no duration is negative.
    """
    start_ms = observation.call_start_ms
    detection_ms = _since(start_ms, observation.detected_ms)
    earliest_ms = start_ms if detection_ms is None else start_ms + detection_ms
    recovered_ms = observation.recovered_ms
    is_in_order = recovered_ms is not None and recovered_ms >= earliest_ms
    recovery_ms = _since(start_ms, recovered_ms) if is_in_order else None
    return RecoveryReport(
        detected=detection_ms is not None,
        recovered=recovery_ms is not None,
        clean_timeout=detection_ms is not None and detection_ms <= observation.timeout_budget_ms,
        time_to_detection_ms=detection_ms,
        time_to_recovery_ms=recovery_ms,
    )


def meets_recovery_budget(report: RecoveryReport, max_recovery_ms: int) -> bool:
    """Return whether the recovery took at most `max_recovery_ms`."""
    return report.time_to_recovery_ms is not None and report.time_to_recovery_ms <= max_recovery_ms


def _since(start_ms: int, at_ms: int | None) -> int | None:
    return None if at_ms is None or at_ms < start_ms else at_ms - start_ms


@dataclass(frozen=True, slots=True)
class PassShare:
    """A share of runs with its confidence interval."""

    hits: int
    total: int
    interval: Interval
    """Wilson score interval at 95 %."""

    @property
    def value(self) -> float | None:
        """hits / total; None without runs."""
        return self.hits / self.total if self.total else None


def share_of(results: Sequence[bool]) -> PassShare:
    """Return the share of true results."""
    hits = sum(results)
    return PassShare(hits, len(results), proportion_interval(hits, len(results)))


def pass_hat_k(passed: int, runs: int, k: int) -> float | None:
    """Return the unbiased estimate of the probability that k runs all pass; None with fewer than k runs.

    It is the share of the subsets of k runs that contain no failed one.
    """
    if not 1 <= k <= runs:
        return None
    return comb(passed, k) / comb(runs, k)
