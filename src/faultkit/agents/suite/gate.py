"""The recovery gate: limits on a run that met a fault, and a verdict that names the broken limit. Pure.

The gate looks at the first faulted call only. The failure is detected when the caller knows that the call
failed, at the latest with the final reply. The run has recovered when the agent gives a final reply.

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
    """Longest time until the caller notices that a call failed. Calls are given up after it."""
    max_recovery_ms: int | None = None
    """Longest time from the start of the faulted call to the final reply; None: no limit."""
    require_clean_timeout: bool = False
    """A failed call must be noticed within `max_detection_ms`."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdict of a gate and its reason."""

    verdict: RowVerdict
    message: str
    report: RecoveryReport
    detections: int
    """Faulted calls whose failure the caller noticed."""
    limit: str = ""
    """Name of the limit that was broken: `max_recovery_ms`."""


_NO_FAULT_MET = RecoveryReport(False, False, False, None, None)


def gate_recovery(
    gate: RecoveryGate, trace: Trace, clock: ClockKind = "virtual", *, allow_unhit: bool = False
) -> GateResult:
    """Judge a run. `allow_unhit`: a run that met no fault passes."""
    faulted = trace.faulted
    if not faulted:
        verdict: RowVerdict = "passed" if allow_unhit else "not_exercised"
        return GateResult(verdict, "not exercised: no call met an injected fault", _NO_FAULT_MET, 0)
    failed = [call for call in faulted if call.failed and call.end_ms is not None]
    report = score_recovery(observation_of(gate, trace))
    detections = len(failed)
    if not report.recovered:
        is_over_budget = trace.ending not in ("reply", "error")
        exceeded = f" (the budget of {trace.ending} was used up)" if is_over_budget else ""
        return GateResult(
            "failed",
            f"did not recover: the run hit the injected fault {len(faulted)} time(s) and never returned a "
            f"clean final reply within {gate.max_detection_ms} detection-budget ms{exceeded}",
            report,
            detections,
            "recovered",
        )
    took = (
        f"recovered in {report.time_to_recovery_ms} ms ({clock}) after {detections} detection(s); "
        f"detection budget {gate.max_detection_ms} ms"
    )
    if gate.max_recovery_ms is not None and not meets_recovery_budget(report, gate.max_recovery_ms):
        over = f"max_recovery_ms is {gate.max_recovery_ms}: {took}"
        return GateResult("failed", over, report, detections, "max_recovery_ms")
    if gate.require_clean_timeout and failed and not report.clean_timeout:
        late = f"require_clean_timeout: noticed after {report.time_to_detection_ms} ms; {took}"
        return GateResult("failed", late, report, detections, "require_clean_timeout")
    return GateResult("passed", took, report, detections)


def observation_of(gate: RecoveryGate, trace: Trace) -> RecoveryObservation:
    """Return the points in time of a run that met a fault: first faulted call, detection, final reply."""
    first = trace.faulted[0]
    detected_ms = trace.noticed_ms(first)
    return RecoveryObservation(
        call_start_ms=round(first.start_ms),
        detected_ms=None if detected_ms is None else round(detected_ms),
        recovered_ms=round(trace.reply.at_ms) if trace.reply is not None and trace.replied else None,
        timeout_budget_ms=gate.max_detection_ms,
    )
