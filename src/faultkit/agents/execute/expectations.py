"""The expectations of a test, checked: the document of a run, whose parts they name, and stored snapshots.

Snapshots are values in `snapshots/SUITE.json` beside a suite, one for each test and target.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from faultkit.agents.matchers.target import TargetNotFound, holds, resolve
from faultkit.agents.recovery.metrics import RecoveryMetrics, metrics_of
from faultkit.agents.recovery.trace import Trace, TracedCall
from faultkit.agents.suite.agent_interface import ToolOutcome
from faultkit.agents.suite.definition import SuiteExpectation, TaskGoal
from faultkit.agents.suite.gate import GateResult
from faultkit.base.errors import InputError, RunError


def run_document(
    trace: Trace, metrics: RecoveryMetrics, gate: GateResult | None, tokens: int | None
) -> dict[str, Any]:
    """Return the document of an agent's run, with the roots of `matchers.target.AGENT_ROOTS`."""
    return {
        "final_response": "" if trace.reply is None else trace.reply.text,
        "tool_calls": [_call(call) for call in trace.tool_calls],
        "tool_names": [call.tool for call in trace.tool_calls],
        "tool_results": [call.outcome for call in trace.tool_calls],
        "model_requests": [_call(call) for call in trace.model_requests],
        "effects": [_effect(call) for call in trace.calls if call.effect],
        "redundant_tool_calls": _redundant_calls(trace),
        "truncated": trace.ending != "reply",
        "conversation": {"tokens": {"total": tokens}, "ending": trace.ending},
        "recovery": None if gate is None else _gate(gate),
        "metrics": asdict(metrics),
    }


def call_result(outcome: ToolOutcome, duration_ms: float) -> dict[str, Any]:
    """Return the document of one call, with the roots of `matchers.target.TOOL_ROOTS`."""
    reply = outcome.reply
    if reply is not None:
        return {"result": reply.get("result"), "error": reply.get("error"), "duration_ms": duration_ms}
    return {"error": {"kind": outcome.outcome, "message": outcome.text}, "duration_ms": duration_ms}


def _gate(gate: GateResult) -> dict[str, Any]:
    return {
        "verdict": gate.verdict,
        "message": gate.message,
        "limit": gate.limit or None,
        "detections": gate.detections,
        **asdict(gate.report),
    }


def _call(call: TracedCall) -> dict[str, Any]:
    return {
        "name": call.tool,
        "args": dict(call.arguments),
        "server": call.server,
        "outcome": call.outcome,
        "fault": call.fault or None,
        "start_ms": call.start_ms,
        "end_ms": call.end_ms,
    }


def _effect(call: TracedCall) -> dict[str, Any]:
    """Return what a server did, whether or not its reply arrived."""
    return {"name": call.tool, "args": dict(call.arguments), "server": call.server}


def meets_goal(goal: TaskGoal, trace: Trace) -> Trace:
    """Return the trace with what the goal shows: whether the task was done, and what the agent claims."""
    document = run_document(trace, metrics_of(trace), None, None)
    reply = trace.reply
    if reply is not None and goal.tells_claim and trace.replied:
        reply = replace(reply, claims_success=_all_hold(goal.claim, document))
    succeeded = trace.succeeded if goal.is_empty else _all_hold(goal.expect, document)
    return replace(trace, reply=reply, succeeded=succeeded)


def _all_hold(expectations: Sequence[SuiteExpectation], document: Mapping[str, Any]) -> bool:
    return all(holds(one.target, one.matcher, one.wanted, document) is None for one in expectations)


def _redundant_calls(trace: Trace) -> int:
    """Count the calls that repeat a successful call with the same arguments."""
    successful: list[tuple[str, dict[str, Any]]] = []
    redundant = 0
    for call in trace.tool_calls:
        if call.failed:
            continue
        key = (call.tool, dict(call.arguments))
        redundant += key in successful
        successful.append(key)
    return redundant


class Snapshots:
    """The snapshots of one suite. They are read at first use; `save` writes updated ones."""

    def __init__(self, suite_file: str, *, update: bool = False) -> None:
        file = Path(suite_file)
        self.path = file.parent / "snapshots" / f"{file.stem}.json"
        self._update = update
        self._stored: dict[str, Any] | None = None
        self._is_changed = False

    def holds(self, test: str, expectation: SuiteExpectation, document: Mapping[str, Any]) -> str | None:
        """Return how the value of an expectation's target violates it; None if it holds."""
        problem = self._problem(test, expectation, document)
        return problem if problem is None or not expectation.message else f"{expectation.message}: {problem}"

    def _problem(self, test: str, expectation: SuiteExpectation, document: Mapping[str, Any]) -> str | None:
        target, matcher = expectation.target, expectation.matcher
        if matcher != "snapshot":
            return holds(target, matcher, expectation.wanted, document)
        name = expectation.wanted if isinstance(expectation.wanted, str) else f"{test}: {target}"
        stored = self._read()
        if self._update:
            try:
                stored[name] = resolve(target, document)
            except TargetNotFound as error:
                return str(error)
            self._is_changed = True
            return None
        if name not in stored:
            return f'there is no snapshot "{name}" in {self.path}: --update-snapshots writes it'
        return holds(target, matcher, stored[name], document)

    def save(self) -> None:
        """Write updated snapshots. Raises RunError."""
        if not self._is_changed:
            return
        text = json.dumps(self._stored, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text, "utf-8")
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _read(self) -> dict[str, Any]:
        if self._stored is None:
            try:
                stored = json.loads(self.path.read_text("utf-8"))
            except FileNotFoundError:
                stored = {}
            except (OSError, ValueError) as error:
                raise InputError(str(self.path), f"expected JSON, got: {error}") from None
            if not isinstance(stored, dict):
                raise InputError(str(self.path), "expected a mapping of snapshots")
            self._stored = stored
        return self._stored
