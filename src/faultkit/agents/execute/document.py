"""What came of a run as one plain document, which expectations name parts of and reports show. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from faultkit.agents.gate import GateResult
from faultkit.agents.kinds.agent import ToolOutcome
from faultkit.agents.recovery.metrics import RecoveryMetrics
from faultkit.agents.recovery.trace import CallMark, Trace


def run_document(
    trace: Trace, metrics: RecoveryMetrics, gate: GateResult | None, tokens: int | None
) -> dict[str, Any]:
    """The roots of `matchers.target.AGENT_ROOTS`."""
    return {
        "final_response": "" if trace.reply is None else trace.reply.text,
        "tool_calls": [_call(call) for call in trace.calls],
        "tool_names": [call.tool for call in trace.calls],
        "tool_results": [call.outcome for call in trace.calls],
        "redundant_tool_calls": _redundant(trace),
        "truncated": trace.ending != "reply",
        "conversation": {"tokens": {"total": tokens}, "ending": trace.ending},
        "recovery": None if gate is None else gate_document(gate),
        "metrics": metrics_document(metrics),
    }


def call_result(outcome: ToolOutcome, duration_ms: float) -> dict[str, Any]:
    """The roots of `matchers.target.TOOL_ROOTS`: what a caller has of one call."""
    reply = outcome.reply
    if reply is not None:
        part = "error" if "error" in reply else "result"
        return {part: reply.get(part), "duration_ms": duration_ms}
    return {"error": {"kind": outcome.outcome, "message": outcome.text}, "duration_ms": duration_ms}


def gate_document(gate: GateResult) -> dict[str, Any]:
    return {
        "verdict": gate.verdict,
        "message": gate.message,
        "limit": gate.limit or None,
        "detections": gate.detections,
        **asdict(gate.report),
    }


def metrics_document(metrics: RecoveryMetrics) -> dict[str, Any]:
    return asdict(metrics)


def _call(call: CallMark) -> dict[str, Any]:
    return {
        "name": call.tool,
        "args": dict(call.arguments),
        "server": call.server,
        "outcome": call.outcome,
        "fault": call.fault or None,
        "start_ms": call.start_ms,
        "end_ms": call.end_ms,
    }


def _redundant(trace: Trace) -> int:
    """Calls that succeeded and were made again with the same arguments."""
    seen: list[tuple[str, dict[str, Any]]] = []
    redundant = 0
    for call in trace.calls:
        if call.failed:
            continue
        key = (call.tool, dict(call.arguments))
        redundant += key in seen
        seen.append(key)
    return redundant
