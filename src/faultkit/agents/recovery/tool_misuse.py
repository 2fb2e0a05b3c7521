"""The seven metrics of ToolMisuseBench (arXiv:2604.01508), by their published definitions. Pure.

They are separate from `metrics`, because two of them mean less than their names: any success counts as
recovery, and every failed task is a catastrophe.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.agents.recovery.trace import Trace

_MANY_INVALID_CALLS = 3


@dataclass(frozen=True, slots=True)
class ToolMisuse:
    """The metrics of one run."""

    task_success: bool
    invalid_call_rate: float
    policy_violations: int
    recovery_success: bool
    time_to_recovery: int | None
    """Steps from the first fault to the first later success of any call; 0 if the faulted one succeeded."""
    tool_calls_used: int
    catastrophic_failure: bool


def tool_misuse_of(trace: Trace) -> ToolMisuse:
    """Compute the metrics of a run."""
    calls = trace.calls
    invalid = sum(call.invalid for call in calls)
    succeeded = trace.succeeded is True
    over_budget = bool(trace.overruns) or trace.ending not in ("reply", "error")
    return ToolMisuse(
        task_success=succeeded,
        invalid_call_rate=invalid / len(calls) if calls else 0.0,
        policy_violations=invalid + sum(call.denied for call in calls),
        recovery_success=bool(trace.faulted) and succeeded,
        time_to_recovery=_steps_to_success(trace),
        tool_calls_used=len(calls),
        catastrophic_failure=over_budget or invalid >= _MANY_INVALID_CALLS or not succeeded,
    )


def _steps_to_success(trace: Trace) -> int | None:
    at = next((index for index, call in enumerate(trace.calls) if call.fault), None)
    if at is None:
        return None
    return next((steps for steps, call in enumerate(trace.calls[at:]) if not call.failed), None)
