"""The result of a run as one JSON document, whose parts expectations name and reports show. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from faultkit.agents.recovery.metrics import RecoveryMetrics
from faultkit.agents.recovery.trace import CallMark, Trace
from faultkit.agents.suite.agent import ToolOutcome
from faultkit.agents.suite.gate import GateResult


def run_document(
    trace: Trace, metrics: RecoveryMetrics, gate: GateResult | None, tokens: int | None
) -> dict[str, Any]:
    """Return the document of an agent's run, with the roots of `matchers.target.AGENT_ROOTS`."""
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
    """Return the document of one call, with the roots of `matchers.target.TOOL_ROOTS`."""
    reply = outcome.reply
    if reply is not None:
        part = "error" if "error" in reply else "result"
        return {part: reply.get(part), "duration_ms": duration_ms}
    return {"error": {"kind": outcome.outcome, "message": outcome.text}, "duration_ms": duration_ms}


def gate_document(gate: GateResult) -> dict[str, Any]:
    """Return a gate's result as JSON."""
    return {
        "verdict": gate.verdict,
        "message": gate.message,
        "limit": gate.limit or None,
        "detections": gate.detections,
        **asdict(gate.report),
    }


def metrics_document(metrics: RecoveryMetrics) -> dict[str, Any]:
    """Return the metrics as JSON."""
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
    """Count the calls that repeat a successful call with the same arguments."""
    seen: list[tuple[str, dict[str, Any]]] = []
    redundant = 0
    for call in trace.calls:
        if call.failed:
            continue
        key = (call.tool, dict(call.arguments))
        redundant += key in seen
        seen.append(key)
    return redundant
