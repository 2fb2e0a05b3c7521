"""Results of suites as one JSON document: every figure in its own field.

Two runs with the same seed give the same bytes except for the fields that `declared_time_fields` lists as
paths of jq: the rest is equal after `jq 'del(.generated_at, …)'`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from faultkit import __version__
from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.report.row_facts import (
    clocks_of,
    count_statuses,
    deciding_run,
    recovery_figures,
    share_figures,
    status_of,
)
from faultkit.agents.suite.results import ResultRow, ScoredRun, SuiteResults
from faultkit.base.secret_names import is_secret_argument, secret_keys
from faultkit.base.secrets import MASK, hide_secrets
from faultkit.base.text import escaped_json

SCHEMA_VERSION = "1.0"

_WALL_CLOCK = (".generated_at", ".summary.duration_ms", ".tests[].duration_ms")
_MESSAGES = (".tests[].message", ".tests[].failure.message")
_MEASURED = (
    *_MESSAGES,
    *(
        f".tests[].{part}.{name}"
        for part in ("recovery", "runs[].recovery")
        for name in ("time_to_detection_ms", "time_to_recovery_ms")
    ),
    *(
        f".tests[].runs[].metrics.{name}"
        for name in ("detection_ms", "same_goal_ms", "any_success_ms", "reply_ms", "backoff")
    ),
    ".tests[].runs[].calls[].start_ms",
    ".tests[].runs[].calls[].end_ms",
    ".tests[].runs[].reply.at_ms",
)
"""Fields that come from a real clock."""

_DEEPEST_LEVEL = 100
"""Arguments of an agent that are nested deeper are cut, because `json` cannot write them."""
_LARGEST_NUMBER = 1e15
"""Larger figures, infinities and NaN are written as null."""


def render_json(results: SuiteResults) -> str:
    """Return the results as JSON."""
    return json_text(results_document(results), indent=2) + "\n"


def json_text(value: Any, indent: int | None = None) -> str:
    """Return any value as JSON, with control and invisible characters escaped."""
    written = json.dumps(_json_value(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return escaped_json(written)


def results_document(results: SuiteResults) -> dict[str, Any]:
    """Return the results as plain data."""
    rows = results.rows
    degraded = {"degraded": [asdict(each) for each in results.lost]} if results.lost else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": _run_id(results),
        "faultkit_version": __version__,
        "generated_at": results.started_at or None,
        "declared_time_fields": list(_time_fields(results)),
        "metadata": {
            "seed": results.seed,
            "clock": clocks_of(results),
            "interrupted": results.interrupted,
            "bailed": results.bailed,
            **degraded,
            "suites": [
                {"file": suite.file, "tests": len(suite.rows), "problem": suite.problem or None}
                for suite in results.suites
            ],
        },
        "summary": {
            "ok": results.ok,
            "total": len(rows),
            **count_statuses(rows),
            "failing": sum(row.fails for row in rows),
            "duration_ms": results.duration_ms,
        },
        "tests": [_test(row) for row in rows],
    }


def _time_fields(results: SuiteResults) -> tuple[str, ...]:
    if any(run.clock != "virtual" for row in results.rows for run in row.runs):
        return _WALL_CLOCK + _MEASURED
    if any(row.limit == "max_duration_ms" for row in results.rows):
        # A call of a live server takes real time, and the message contains it.
        return _WALL_CLOCK + _MESSAGES
    return _WALL_CLOCK


def _run_id(results: SuiteResults) -> str:
    """Return an id of what was run: the same for two runs of the same tests with the same seed."""
    tests = [[row.place.file, row.place.line, row.name] for row in results.rows]
    what = json.dumps([tests, str(results.seed), results.clock], ensure_ascii=True)
    return sha256(what.encode()).hexdigest()[:16]


def _test(row: ResultRow) -> dict[str, Any]:
    run = deciding_run(row)
    failure = {
        "type": row.verdict,
        "message": row.message,
        "limit": row.limit or None,
        "diff": row.diff or None,
    }
    found = {
        "name": row.name,
        "status": status_of(row),
        "file": row.place.file,
        "line": row.place.line,
        "rule_id": row.rule or None,
        "tags": row.tags,
        "duration_ms": round(row.duration_ms, 3),
        "message": row.message,
        "failure": failure if row.fails else None,
        "skipped": row.skipped or None,
        "stub": row.stub,
        "recovery": None if run is None else recovery_figures(run),
        "passed_share": None if row.passed_share is None else share_figures(row.passed_share),
        "runs": [_run(each) for each in row.runs],
        "details": dict(row.details),
    }
    found |= {"injected": row.injected} if row.injected else {}
    return {**found, "unrun": True} if row.unrun else found


def _run(run: ScoredRun) -> dict[str, Any]:
    trace = run.trace
    return {
        "seed": run.seed,
        "clock": run.clock,
        "recovery": recovery_figures(run),
        "metrics": asdict(run.metrics),
        "tool_misuse": asdict(run.misuse),
        "calls": [_call(call) for call in trace.calls],
        "reply": None if trace.reply is None else asdict(trace.reply),
        "ending": trace.ending,
        "succeeded": trace.succeeded,
        "overruns": trace.overruns,
    }


def _call(call: TracedCall) -> dict[str, Any]:
    """Return a call as plain data; facts that do not apply are left out."""
    optional = {
        "goal": call.goal,
        "fault": call.fault,
        "permanent": call.permanent,
        "invalid": call.invalid,
        "denied": call.denied,
        "effect": call.effect,
        "is_read": call.is_read,
        "canaries": call.canaries,
        "is_model": call.is_model,
    }
    found = {
        "tool": call.tool,
        "server": call.server,
        "arguments": _masked(_json_value(call.arguments)),
        "outcome": call.outcome,
        "start_ms": call.start_ms,
        "end_ms": call.end_ms,
        **{name: value for name, value in optional.items() if value},
    }
    return found if call.retry_after_ms is None else {**found, "retry_after_ms": call.retry_after_ms}


def _masked(value: Any) -> Any:
    """Mask what is a secret by its name or its shape: CI systems keep reports."""
    if isinstance(value, dict):
        secret = secret_keys(value)
        return {name: MASK if name in secret else _masked(each) for name, each in value.items()}
    if isinstance(value, list):
        return [
            MASK if is_secret_argument(value, index) else _masked(each) for index, each in enumerate(value)
        ]
    return hide_secrets(value, MASK) if isinstance(value, str) else value


def _json_value(value: Any, depth: int = 0) -> Any:
    """Return a value that JSON can hold: arguments come from agents and can be of any type."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        # 3000.0 and 3000 are the same time.
        return (int(value) if value.is_integer() else value) if abs(value) < _LARGEST_NUMBER else None
    if depth == _DEEPEST_LEVEL:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _json_value(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each, depth + 1) for each in value]
    return str(value)
