"""The score of one recovery, from four marks in milliseconds. Total: there is no input that it fails on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecoveryObservation:
    call_start_ms: int
    detected_ms: int | None
    """When the caller noticed that the call fails."""
    recovered_ms: int | None
    timeout_budget_ms: int
    """How long a call may hang before the caller should have noticed."""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    detected: bool
    recovered: bool
    clean_timeout: bool
    """It was noticed, and within the budget."""
    time_to_detection_ms: int | None
    time_to_recovery_ms: int | None
    """Both since the call began."""


def score_recovery(observation: RecoveryObservation) -> RecoveryReport:
    """A mark that lies before what it must follow counts as absent: no duration is ever negative."""
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
    """The limit itself is within the budget."""
    return report.time_to_recovery_ms is not None and report.time_to_recovery_ms <= max_recovery_ms


def _since(start_ms: int, mark_ms: int | None) -> int | None:
    return None if mark_ms is None or mark_ms < start_ms else mark_ms - start_ms
