"""What the chaos tools answer: schemas, and the structured content of an error. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agent_tools.arguments import either

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_WHOLE = {"type": "integer"}
_FLAG = {"type": "boolean"}
_TEXT_OR_NULL = either("string", "null")
_KEY = either("integer", "string")
_LISTED = {"type": "array", "items": {"type": "string"}}


def _told(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}


def _object(properties: Mapping[str, Any], required: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _or_error(properties: Mapping[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """All of it, or an error: clients check the structured content of errors, too."""
    error = {"properties": {"status": {"const": "error"}}, "required": ["status", "error"]}
    both = {"status": _told(_TEXT, '"error", and only on errors.'), "error": _TEXT_OR_NULL, **properties}
    return _object(both, (), anyOf=[{"required": list(required), "not": {"required": ["status"]}}, error])


_EFFECT = _object(
    {
        "says": _told(_TEXT, "What was done, for people."),
        "raised": _told(_TEXT_OR_NULL, "The exception that the code would meet."),
        "message": _TEXT_OR_NULL,
        "slept_seconds": _NUMBER,
        "lasts_seconds": _told(_NUMBER, "How long it still goes on by itself, at most."),
        "measured": _told({"type": "object"}, "What the effect holds or has done by now."),
    },
    ("says", "raised", "message", "slept_seconds", "lasts_seconds", "measured"),
)
INJECTED = _object(
    {
        "status": _told(
            {"type": "string", "enum": ["registered", "injected", "removed", "error"]},
            "The action was carried out; whether the dice fell so is in was_triggered.",
        ),
        "fault_name": _TEXT_OR_NULL,
        "fault_type": _told(_TEXT_OR_NULL, "null on errors, and of a fault that was not there."),
        "was_triggered": _told(_FLAG, "Only on inject."),
        "effect": _told({"anyOf": [_EFFECT, {"type": "null"}]}, "Only on inject; null if not triggered."),
        "roll": _told(_NUMBER, "Only on inject: it triggers below the probability."),
        "call": _told(_KEY, "Only on inject: the number of the call, or its call_id."),
        "seed": _told(_KEY, "Only on register: with it, the sequence can be repeated."),
        "existed": _told(_FLAG, "Only on remove."),
        "warnings": _LISTED,
        "error": _told(_TEXT, "Only on errors."),
    },
    ("status", "fault_name", "fault_type"),
)

_RESULT: dict[str, Any] = {
    "experiment_name": _TEXT_OR_NULL,
    "success": _told(_FLAG, "The system kept its steady state."),
    "steady_state_before": _FLAG,
    "steady_state_after": _FLAG,
    "duration_seconds": _NUMBER,
    "error": _TEXT_OR_NULL,
    "started_at": _told(_TEXT, "RFC 3339, UTC."),
    "outcome": _told(
        {
            "type": "string",
            "enum": ["held", "deviated", "invalid", "gate_not_met", "aborted", "rollback_failed"],
        },
        "In one word; rollback_failed: something is still broken.",
    ),
    "rollback_ok": _FLAG,
    "action_error": _TEXT_OR_NULL,
    "dry_run": _FLAG,
}
_SEEDS_OWN = (
    "experiment_name",
    "success",
    "steady_state_before",
    "steady_state_after",
    "duration_seconds",
    "error",
    "started_at",
)
RAN = _or_error(
    {
        **_RESULT,
        "reasons": _told(_LISTED, "Each check that was not met, and why."),
        "plan": _told({"type": "array", "items": {"type": "object"}}, "Only on a dry run: what it would do."),
        "undone": _told({"type": "array", "items": {"type": "object"}}, "What was rolled back."),
        "warnings": _LISTED,
    },
    _SEEDS_OWN,
)
_FAULT = _object(
    {
        "name": _TEXT,
        "fault_type": _TEXT,
        "probability": _NUMBER,
        "active": _told(_FLAG, "It is doing something just now."),
        "calls": _WHOLE,
        "times_triggered": _WHOLE,
        "last_triggered_at": _TEXT_OR_NULL,
        "ends_in_seconds": either("number", "null"),
        "expires_in_seconds": either("number", "null"),
        "trouble": _told(_TEXT, "Why its last effect could not be taken back."),
    },
    ("name", "fault_type", "probability"),
)
STATUS = _or_error(
    {
        "active_faults": _told({"type": "array", "items": _FAULT}, "Currently registered faults."),
        "registered_experiments": _WHOLE,
        "results": _told(
            {"type": "array", "items": _object(_RESULT, _SEEDS_OWN)}, "Only if asked for; newest first."
        ),
        "total_runs": _WHOLE,
        "success_rate": _told(_NUMBER, "From 0 to 1; 0 before the first run."),
        "success_percent": _NUMBER,
        "stopped": _told(_TEXT_OR_NULL, "Why the stop lever is pulled; null if it is not."),
        "environment": _TEXT,
        "problems": _told(_LISTED, "Files that are no experiment, and what is wrong with them."),
        "warnings": _LISTED,
    },
    ("active_faults", "registered_experiments", "total_runs", "success_rate"),
)


def inject_failure(given: Mapping[str, Any], error: str) -> dict[str, Any]:
    return {"status": "error", "fault_name": _name(given, "fault_name"), "fault_type": None, "error": error}


def run_failure(given: Mapping[str, Any], error: str) -> dict[str, Any]:
    return {"status": "error", "experiment_name": _name(given, "experiment_name"), "error": error}


def status_failure(given: Mapping[str, Any], error: str) -> dict[str, Any]:
    return {"status": "error", "error": error}


def _name(given: Mapping[str, Any], key: str) -> str | None:
    name = given.get(key)
    return name[:1000] if isinstance(name, str) else None
