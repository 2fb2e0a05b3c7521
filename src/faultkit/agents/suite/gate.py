"""The recovery gate: limits on a run that met a fault, and a verdict that names the limit it broke. Pure.

The gate looks at the first faulted call only. It is detected when the caller knows that the call failed, at
the latest after the detection budget. The run has recovered when the agent gives a final reply.

    call_start ......... detected .................... recovered
       |-- max_detection_ms --|                            |
       |---------------------- max_recovery_ms ------------|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.agents.recovery.score import (
    RecoveryObservation,
    RecoveryReport,
    meets_recovery_budget,
    score_recovery,
)
from faultkit.agents.recovery.trace import Trace

RowVerdict: TypeAlias = Literal["passed", "failed", "not_exercised", "inconclusive", "error"]
ClockKind: TypeAlias = Literal["virtual", "scaled", "real"]


@dataclass(frozen=True, slots=True)
class RecoveryGate:
    """The limits of a recovery."""

    max_detection_ms: int
    """Longest time until the agent must notice that a call failed. Calls are given up after it."""
    max_recovery_ms: int | None = None
    require_clean_timeout: bool = False


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdict of a gate and its reason."""

    verdict: RowVerdict
    message: str
    report: RecoveryReport
    detections: int
    limit: str = ""
    """Name of the limit that was broken: `max_recovery_ms`."""


_NOTHING_SEEN = RecoveryReport(False, False, False, None, None)


def gate_recovery(
    gate: RecoveryGate, trace: Trace, clock: ClockKind = "virtual", *, allow_unhit: bool = False
) -> GateResult:
    """Judge a run. `allow_unhit`: a run that met no fault passes."""
    faulted = trace.faulted
    if not faulted:
        verdict: RowVerdict = "passed" if allow_unhit else "not_exercised"
        return GateResult(verdict, "not exercised: no call met an injected fault", _NOTHING_SEEN, 0)
    failed = [call for call in faulted if call.failed and call.end_ms is not None]
    report = score_recovery(observation_of(gate, trace))
    seen, budget = len(failed), f"detection budget {gate.max_detection_ms} ms"
    if not report.recovered:
        return GateResult(
            "failed",
            f"did not recover: the run hit the injected fault {len(faulted)} time(s) and never returned a "
            f"clean final reply within {gate.max_detection_ms} detection-budget ms{_why(trace)}",
            report,
            seen,
            "recovered",
        )
    took = f"recovered in {report.time_to_recovery_ms} ms ({clock}) after {seen} detection(s); {budget}"
    if gate.max_recovery_ms is not None and not meets_recovery_budget(report, gate.max_recovery_ms):
        over = f"max_recovery_ms is {gate.max_recovery_ms}: {took}"
        return GateResult("failed", over, report, seen, "max_recovery_ms")
    if gate.require_clean_timeout and failed and not report.clean_timeout:
        late = f"require_clean_timeout: noticed after {report.time_to_detection_ms} ms; {took}"
        return GateResult("failed", late, report, seen, "require_clean_timeout")
    return GateResult("passed", took, report, seen)


def observation_of(gate: RecoveryGate, trace: Trace) -> RecoveryObservation:
    """Return the marks of a run that met a fault: its first faulted call, detection and final reply."""
    first = trace.faulted[0]
    noticed = first if first.failed else None
    return RecoveryObservation(
        call_start_ms=round(first.start_ms),
        detected_ms=None if noticed is None or noticed.end_ms is None else round(noticed.end_ms),
        recovered_ms=round(trace.reply.at_ms) if trace.reply is not None and trace.replied else None,
        timeout_budget_ms=gate.max_detection_ms,
    )


def _why(trace: Trace) -> str:
    if trace.ending in ("reply", "error"):
        return ""
    return f" (the budget of {trace.ending} was used up)"
