"""The figures of a run that every reporter shows, under the names that machines find them by. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from faultkit.agents.recovery.repeats import Share, pass_hat_k
from faultkit.agents.recovery.trace import CallMark, Trace
from faultkit.agents.result import Row, Run
from faultkit.base.numerals import short

_MOST_IN_A_ROW = 8
"""For how many runs in a row it is told how likely they all pass."""


def decisive(row: Row) -> Run | None:
    """The run that the verdict of the row is about: the first whose gate says the same."""
    if not row.runs:
        return None
    same = (run for run in row.runs if run.gate is not None and run.gate.verdict == row.verdict)
    return next(same, row.runs[0])


def recovery_numbers(run: Run) -> dict[str, Any]:
    metrics, gate = run.metrics, run.gate
    return {
        "verdict": None if gate is None else gate.verdict,
        "limit": None if gate is None else gate.limit or None,
        "max_detection_ms": None if run.wanted is None else run.wanted.max_detection_ms,
        "max_recovery_ms": None if run.wanted is None else run.wanted.max_recovery_ms,
        "detections": metrics.detections,
        "time_to_detection_ms": metrics.detection_ms if gate is None else gate.report.time_to_detection_ms,
        "time_to_recovery_ms": metrics.reply_ms if gate is None else gate.report.time_to_recovery_ms,
        "clean_timeout": None if gate is None else gate.report.clean_timeout,
        "path": metrics.path,
        "retries": retries_of(run.trace),
        "other_tool": other_tool_of(run),
        "calls": len(run.trace.calls),
        "ending": run.trace.ending,
        "error_recovery": run.error_recovery,
    }


def row_numbers(row: Row) -> dict[str, Any]:
    """All figures of a row, flat: those of its decisive run, and how many of its runs passed."""
    found: dict[str, Any] = {"rule_id": row.rule or None, "limit": row.limit or None}
    run = decisive(row)
    if run is not None:
        found |= {name: value for name, value in recovery_numbers(run).items() if name not in _TOLD_BY_ROWS}
        found |= {name: getattr(run.metrics, name) for name in _COSTS}
        found |= {f"tool_misuse.{name}": value for name, value in asdict(run.misuse).items()}
    if row.passed_share is not None:
        found |= {"runs": row.passed_share.total, "runs_passed": row.passed_share.hits}
    return {name: value for name, value in found.items() if value is not None}


_TOLD_BY_ROWS = ("verdict", "limit")
_COSTS = (
    "wasted_calls",
    "amplification",
    "duplicate_effects",
    "cascade",
    "honest",
    "clean_cancel",
)


def share_numbers(share: Share) -> dict[str, Any]:
    most = min(share.total, _MOST_IN_A_ROW)
    return {
        "hits": share.hits,
        "total": share.total,
        "value": share.value,
        "low": share.interval.low,
        "high": share.interval.high,
        "pass_hat_k": {str(k): pass_hat_k(share.hits, share.total, k) for k in range(1, most + 1)},
    }


def retries_of(trace: Trace) -> int:
    """Calls of a tool whose call before had failed."""
    by_tool: dict[tuple[str, str], list[CallMark]] = {}
    for call in trace.calls:
        by_tool.setdefault((call.server, call.tool), []).append(call)
    return sum(before.failed for calls in by_tool.values() for before, _ in pairwise(calls))


def other_tool_of(run: Run) -> str | None:
    """The tool that stood in for the faulted one."""
    if run.metrics.path != "other_tool":
        return None
    first = run.trace.faulted[0]
    later = run.trace.calls[run.trace.calls.index(first) + 1 :]
    others = [call for call in later if not call.failed and call.tool != first.tool]
    return next((call.tool for call in [*(c for c in others if c.aim == first.aim), *others]), None)


def plain(value: Any) -> str:
    """A figure as one word: `true`, `0.5`, `retry`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return short(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return "" if value is None else str(value)
