"""`orchestration.error_recovery`: of the calls that failed, how many were followed by a success. Pure."""

from __future__ import annotations

from faultkit.agents.recovery.trace import Trace


def error_recovery(trace: Trace) -> int | None:
    """In whole percent. A failed call recovers by a later success with the same aim. None if none failed:
    there was nothing to recover from, which is not the same as having recovered from everything."""
    failed = [index for index, call in enumerate(trace.calls) if call.failed]
    if not failed:
        return None
    recovered = sum(
        any(not later.failed and later.aim == trace.calls[index].aim for later in trace.calls[index + 1 :])
        for index in failed
    )
    return round(100 * recovered / len(failed))
