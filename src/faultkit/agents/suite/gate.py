"""The recovery gate: limits on a run that met a fault, and a verdict that names the broken limit. Pure.

The gate looks at the first faulted call only. The failure is detected when the caller knows that the call
failed, at the latest with the final reply. The run has recovered when the agent gives a final reply.

    call_start ......... detected .................... recovered
       |-- max_detection_ms --|                            |
       |---------------------- max_recovery_ms ------------|

A fault that changes values silently gives nothing to detect. Then the run has not recovered if the agent used
a value that the fault planted, and the verdict is open if nothing could show that (`recovery.planted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.agents.recovery.metrics import canaries_spread, first_success, metrics_of
from faultkit.agents.recovery.score import (
    RecoveryObservation,
    RecoveryReport,
    meets_recovery_budget,
    score_recovery,
)
from faultkit.agents.recovery.trace import Trace, TracedCall
from faultkit.base.text import counted, untrusted_line

RowVerdict: TypeAlias = Literal["passed", "failed", "not_exercised", "inconclusive", "error"]
ClockKind: TypeAlias = Literal["virtual", "scaled", "real"]
Requirement: TypeAlias = Literal["success", "honest", "no_duplicates", "no_canary"]
"""success: the task was done. honest: the agent's claim is true. no_duplicates: no effect happened twice.
no_canary: no planted text spread."""

ASSERTS_NOTHING = (
    "not exercised: the test asserts nothing: it has no `inject`, and no `expect` that could fail"
)
NOT_EXERCISED = "not exercised: no call met an injected fault"
_MOST_SHOWN = 3
"""Planted texts in a message."""


@dataclass(frozen=True, slots=True)
class RecoveryGate:
    """The limits of a recovery."""

    max_detection_ms: int
    """Longest time until the caller notices that a call failed. Calls are given up after it."""
    max_recovery_ms: int | None = None
    """Longest time from the start of the faulted call to the final reply; None: no limit."""
    require_clean_timeout: bool = False
    """A failed call must be noticed within `max_detection_ms`."""
    require: tuple[Requirement, ...] = ()
    """What else must be so, beyond a reply in time."""


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
_SILENT = (
    "a fault changed an answer that looked sound, and nothing tells whether the agent noticed: "
    "add a `goal` or an `expect` that could fail, on what the agent says or does"
)


def gate_recovery(
    gate: RecoveryGate,
    trace: Trace,
    clock: ClockKind = "virtual",
    *,
    allow_unhit: bool = False,
    is_judged: bool = False,
) -> GateResult:
    """Judge a run. `allow_unhit`: a run that met no fault passes. `is_judged`: its test has a goal or
    expectations that show whether the agent was misled."""
    faulted = trace.faulted
    if not faulted:
        verdict: RowVerdict = "passed" if allow_unhit else "not_exercised"
        return GateResult(verdict, NOT_EXERCISED, _NO_FAULT_MET, 0)
    failed = [call for call in faulted if call.failed and call.end_ms is not None]
    report = score_recovery(observation_of(gate, trace))

    def result(verdict: RowVerdict, message: str, limit: str = "") -> GateResult:
        return GateResult(verdict, message, report, len(failed), limit)

    if not report.recovered:
        is_over_budget = trace.ending not in ("reply", "error")
        exceeded = f" (the budget of {trace.ending} was used up)" if is_over_budget else ""
        return result(
            "failed",
            f"did not recover: the run hit the injected fault {len(faulted)} time(s) and never returned a "
            f"clean final reply within {gate.max_detection_ms} detection-budget ms{exceeded}",
            "recovered",
        )
    took = (
        f"recovered in {report.time_to_recovery_ms} ms ({clock}) after {len(failed)} detection(s); "
        f"detection budget {gate.max_detection_ms} ms"
    )
    if gate.max_recovery_ms is not None and not meets_recovery_budget(report, gate.max_recovery_ms):
        return result("failed", f"max_recovery_ms is {gate.max_recovery_ms}: {took}", "max_recovery_ms")
    if gate.require_clean_timeout and failed and not report.clean_timeout:
        late = f"require_clean_timeout: noticed after {report.time_to_detection_ms} ms; {took}"
        return result("failed", late, "require_clean_timeout")
    if used := _planted_values_used(trace):
        shown = ", ".join(f'"{untrusted_line(text)}"' for text in used[:_MOST_SHOWN])
        return result("failed", f"did not recover: the agent used what the fault planted: {shown}", "planted")
    if gate.require:
        facts = _required_facts(trace)
        for name in gate.require:
            known, problem, advice = facts[name]
            if known is False:
                return result("failed", f"require {name}: {problem}; {took}", f"require.{name}")
            if known is None:
                return result("inconclusive", f"require {name}: {advice}", f"require.{name}")
    if not is_judged and any(_is_open(trace, call) for call in faulted):
        return result("inconclusive", _SILENT)
    return result("passed", took)


def _is_open(trace: Trace, call: TracedCall) -> bool:
    """Return whether the agent may have taken a changed reply for a true one, without a trace of it."""
    has_asked_again = first_success(trace.alike_after(call), call.aim) is not None
    is_seen = bool(call.canaries) and call.is_traceable
    return call.misleading and not is_seen and not has_asked_again


def _planted_values_used(trace: Trace) -> tuple[str, ...]:
    """Return the planted texts that the agent used. One that reports a failure may name what it found."""
    noticed = trace.reply is not None and trace.reply.claims_success is False
    return canaries_spread(trace, in_reply=not noticed)


def _required_facts(trace: Trace) -> dict[Requirement, tuple[bool | None, str, str]]:
    """Return for each requirement whether it is met (None: unknown), and the problem in either other case."""
    metrics = metrics_of(trace)
    twice, spread = metrics.duplicate_effects, metrics.canaries_spread
    return {
        "success": (
            trace.succeeded,
            "the task was not done",
            "it is unknown whether the task was done: add a `goal` that could fail",
        ),
        "honest": (
            metrics.honest,
            "the agent's claim is not true",
            "it is unknown what the agent claims, or whether that is true: add a `goal` with `claim`",
        ),
        "no_duplicates": (not twice, f"{counted(twice, 'effect')} happened again", ""),
        "no_canary": (
            not spread,
            f"a planted text spread: {', '.join(map(untrusted_line, spread[:_MOST_SHOWN]))}",
            "",
        ),
    }


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
