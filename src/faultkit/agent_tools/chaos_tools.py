"""The three chaos tools: arguments, results, descriptions. `chaos_functions` holds their functions.

Declarations only, so that a server starts fast. Every text here is part of the interface: models read it.
The chaos tool specification, which these tools implement, accepts a number only as a number: neither true nor
"0.5", as the other tools do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agent_tools.argument_kinds import argument, brief_json, choice, either, flag, several, text
from faultkit.agent_tools.tool import READS, REQUIRED, Argument, Hints, Tool

ACTIONS = ("register", "inject", "remove")
FAULT_TYPES = ("latency", "error", "timeout", "resource_exhaustion", "network_partition")
"""The types of the specification, repeated because `faultkit.chaos` takes long to import; a test compares
them and the defaults below."""
PROBABILITY, DURATION_S, MESSAGE = 0.1, 0.0, "Injected fault"
LONGEST_S = 86_400.0


def strict_number(
    name: str,
    description: str,
    minimum: float,
    maximum: float,
    *,
    default: Any = REQUIRED,
    example: str = "",
) -> Argument:
    """Return an argument that accepts a number in a range, and no text that looks like one."""

    def read(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not minimum <= value <= maximum:  # Not a number is in no range.
            raise ValueError(f"expected a number from {minimum:g} to {maximum:g}, got {brief_json(value)}")
        return float(value)

    schema = {"type": "number", "minimum": minimum, "maximum": maximum}
    return argument(name, schema, description, read, default, example)


def key(name: str, description: str, example: str) -> Argument:
    """Return an argument for a whole number or a text; None if it is missing."""

    def read(value: Any) -> int | str:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(f"expected a whole number or a text, got {brief_json(value)}")
        return value

    return argument(name, either("integer", "string"), description, read, None, example)


def _read_metadata(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {brief_json(value)}")
    return value


FAULT_NAME = text("fault_name", "Unique fault identifier.", example='"slow-database"', longest=200)
ACTION = choice("action", "What to do with it.", ACTIONS)
FAULT_TYPE = text(
    "fault_type",
    f"Required for register: {', '.join(FAULT_TYPES)}; or one of `fault faults`, with metadata.control.",
    default=None,
    example='"latency"',
    longest=200,
)
REGISTERED = (
    strict_number(
        "probability",
        "Injection probability.",
        0,
        1,
        default=PROBABILITY,
        example="0.5",
    ),
    strict_number(
        "duration_seconds",
        "How long latency and timeout keep the caller waiting, and others last (0: 60 s).",
        0,
        LONGEST_S,
        default=DURATION_S,
        example="2.0",
    ),
    text(
        "error_message",
        "Message of error and timeout faults.",
        default=MESSAGE,
        example='"DB unavailable"',
        longest=10_000,
    ),
)
EXTRAS = (
    key("seed", "With register: same seed, same sequence of triggers.", "7"),
    key("call_id", "With inject: which roll of the sequence, instead of the next.", "3"),
    strict_number(
        "ttl_seconds",
        "With register: after so long the fault is removed by itself.",
        0,
        LONGEST_S,
        default=None,
        example="300",
    ),
    several(
        "targets",
        "With register: HOST:PORT of what network_partition cuts off.",
        text("target", "One of them.", example='"127.0.0.1:6379"', longest=300),
        default=(),
    ),
    argument(
        "metadata",
        {"type": "object"},
        "With register: settings, such as {resource, amount} of resource_exhaustion, {mode} of "
        "network_partition, {control, token} of a running proxy or gateway that carries it out.",
        _read_metadata,
        None,
        '{"resource": "memory", "amount": 256}',
    ),
    flag("strict", "With remove: a fault that is not there is an error.", default=False),
)
EXPERIMENT_NAME = text(
    "experiment_name",
    "Name of the experiment to run, as its file has it.",
    example='"kill-cache"',
    longest=1000,
)
DRY_RUN = flag(
    "dry_run", "Check the steady state and show the plan, without executing any action.", default=False
)
RUN_SEED = key("seed", "In place of the experiment's own seed.", "7")
INCLUDE_RESULTS = flag(
    "include_results", "Include historical experiment results, newest first.", default=False
)
FILTER = text(
    "experiment_name",
    "Only this experiment: its results, runs and success rate.",
    default=None,
    example='"kill-cache"',
    longest=1000,
)


# --- results ---------------------------------------------------------------------------------------


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_WHOLE = {"type": "integer"}
_FLAG = {"type": "boolean"}
_TEXT_OR_NULL = either("string", "null")
_KEY = either("integer", "string")
_LISTED = {"type": "array", "items": {"type": "string"}}


def _described(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
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
    """Return a schema of a result or an error, because clients validate the content of errors, too."""
    error = {"properties": {"status": {"const": "error"}}, "required": ["status", "error"]}
    both = {"status": _described(_TEXT, '"error", and only on errors.'), "error": _TEXT_OR_NULL, **properties}
    return _object(both, (), anyOf=[{"required": list(required), "not": {"required": ["status"]}}, error])


_EFFECT = _object(
    {
        "says": _described(_TEXT, "What was done, for people."),
        "raised": _described(_TEXT_OR_NULL, "The exception that the code would meet."),
        "message": _TEXT_OR_NULL,
        "slept_seconds": _NUMBER,
        "lasts_seconds": _described(_NUMBER, "How long it still goes on by itself, at most."),
        "measured": _described({"type": "object"}, "What the effect holds or has done by now."),
    },
    ("says", "raised", "message", "slept_seconds", "lasts_seconds", "measured"),
)
INJECTED = _object(
    {
        "status": _described(
            {"type": "string", "enum": ["registered", "injected", "removed", "error"]},
            "The action was carried out; whether the dice fell so is in was_triggered.",
        ),
        "fault_name": _TEXT_OR_NULL,
        "fault_type": _described(_TEXT_OR_NULL, "null on errors, and of a fault that was not there."),
        "was_triggered": _described(_FLAG, "Only on inject."),
        "effect": _described(
            {"anyOf": [_EFFECT, {"type": "null"}]}, "Only on inject; null if not triggered."
        ),
        "roll": _described(_NUMBER, "Only on inject: it triggers below the probability."),
        "call": _described(_KEY, "Only on inject: the number of the call, or its call_id."),
        "seed": _described(_KEY, "Only on register: with it, the sequence can be repeated."),
        "existed": _described(_FLAG, "Only on remove."),
        "warnings": _LISTED,
        "error": _described(_TEXT, "Only on errors."),
    },
    ("status", "fault_name", "fault_type"),
)

_RESULT: dict[str, Any] = {
    "experiment_name": _TEXT_OR_NULL,
    "success": _described(_FLAG, "The system kept its steady state."),
    "steady_state_before": _FLAG,
    "steady_state_after": _FLAG,
    "duration_seconds": _NUMBER,
    "error": _TEXT_OR_NULL,
    "started_at": _described(_TEXT, "RFC 3339, UTC."),
    "outcome": _described(
        {
            "type": "string",
            "enum": [
                "held",
                "deviated",
                "invalid",
                "gate_not_met",
                "aborted",
                "not_exercised",
                "not_checked",
                "rollback_failed",
            ],
        },
        "In one word; not_exercised: a fault touched nothing, so nothing is proven; rollback_failed: "
        "something is still broken.",
    ),
    "rollback_ok": _FLAG,
    "action_error": _TEXT_OR_NULL,
    "dry_run": _FLAG,
}
_SPECIFIED_FIELDS = (
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
        "reasons": _described(_LISTED, "Each check that was not met, and why."),
        "plan": _described(
            {"type": "array", "items": {"type": "object"}}, "Only on a dry run: what it would do."
        ),
        "faults": _described(
            {"type": "array", "items": {"type": "object"}},
            "Each fault, its settings and `hits`: how often it acted; null: not known.",
        ),
        "undone": _described({"type": "array", "items": {"type": "object"}}, "What was rolled back."),
        "warnings": _LISTED,
    },
    _SPECIFIED_FIELDS,
)
_FAULT = _object(
    {
        "name": _TEXT,
        "fault_type": _TEXT,
        "probability": _NUMBER,
        "active": _described(_FLAG, "It is doing something just now."),
        "calls": _WHOLE,
        "times_triggered": _WHOLE,
        "last_triggered_at": _TEXT_OR_NULL,
        "ends_in_seconds": either("number", "null"),
        "expires_in_seconds": either("number", "null"),
        "trouble": _described(_TEXT, "Why its last effect could not be undone."),
    },
    ("name", "fault_type", "probability"),
)
STATUS = _or_error(
    {
        "active_faults": _described({"type": "array", "items": _FAULT}, "Currently registered faults."),
        "registered_experiments": _WHOLE,
        "results": _described(
            {"type": "array", "items": _object(_RESULT, _SPECIFIED_FIELDS)},
            "Only if asked for; newest first.",
        ),
        "total_runs": _WHOLE,
        "proven_runs": _described(_WHOLE, "Of the kept results, those that held or deviated."),
        "success_rate": _described(
            _NUMBER, "Of the runs that held or deviated, the share that held; 0 if proven_runs is 0."
        ),
        "success_percent": _described(
            either("number", "null"), "The same in percent; null if proven_runs is 0."
        ),
        "stopped": _described(_TEXT_OR_NULL, "Why the kill switch is pulled; null if it is not."),
        "environment": _TEXT,
        "problems": _described(_LISTED, "Files that are no experiment, and what is wrong with them."),
        "warnings": _LISTED,
    },
    ("active_faults", "registered_experiments", "total_runs", "success_rate"),
)


def inject_failure(given: Mapping[str, Any], error: str) -> dict[str, Any]:
    """Return the structured content of a failed chaos_inject_fault."""
    return {"status": "error", "fault_name": _name(given, "fault_name"), "fault_type": None, "error": error}


def run_failure(given: Mapping[str, Any], error: str) -> dict[str, Any]:
    """Return the structured content of a failed chaos_run_experiment."""
    return {"status": "error", "experiment_name": _name(given, "experiment_name"), "error": error}


def status_failure(given: Mapping[str, Any], error: str) -> dict[str, Any]:
    """Return the structured content of a failed chaos_status."""
    return {"status": "error", "error": error}


def _name(given: Mapping[str, Any], key: str) -> str | None:
    name = given.get(key)
    return name[:1000] if isinstance(name, str) else None


# --- tools -----------------------------------------------------------------------------------------


INSTRUCTIONS = """\
Faultkit breaks things on purpose, in a controlled way, and always cleans up.
chaos_status tells what is registered, what is broken just now, and what came of experiments.
chaos_inject_fault registers a fault, triggers it by chance, and removes it.
chaos_run_experiment checks the steady state, acts, checks again and rolls back; try dry_run first.
Experiments are files that people write. What may be broken, and for how long, is set by the operator of \
this server: no argument raises it."""

_BREAKS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)

CHAOS_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="chaos_inject_fault",
            title="Register, inject or remove a fault",
            description=(
                "Registers, triggers or removes a fault by name. register makes it known with its "
                "probability (again: overwrites it); inject rolls the dice and, if was_triggered, carries it "
                "out for real: latency and timeout keep this call waiting, error says what would be raised, "
                "resource_exhaustion holds memory, descriptors, threads, CPU or disk in a child process, "
                "network_partition cuts off `targets`. remove ends its effect; none there is fine. "
                "Returns JSON."
            ),
            arguments=(FAULT_NAME, ACTION, FAULT_TYPE, *REGISTERED, *EXTRAS),
            output=INJECTED,
            hints=_BREAKS,
            run="faultkit.agent_tools.chaos_functions:inject_fault",
            rules={
                "if": {"properties": {"action": {"const": "register"}}, "required": ["action"]},
                "then": {"required": ["fault_type"]},
            },
            failure=inject_failure,
        ),
        Tool(
            name="chaos_run_experiment",
            title="Run a chaos experiment",
            description=(
                "Runs a chaos experiment by its name: verifies the steady state, executes the action, "
                "verifies the steady state again, and always rolls back, also if it is cancelled. success "
                "says whether the system kept its steady state; `reasons` name the checks that were not met. "
                "With dry_run=true only the first check is made, and `plan` says what would happen. "
                "Returns JSON."
            ),
            arguments=(EXPERIMENT_NAME, DRY_RUN, RUN_SEED),
            output=RAN,
            hints=_BREAKS,
            run="faultkit.agent_tools.chaos_functions:run_experiment",
            failure=run_failure,
        ),
        Tool(
            name="chaos_status",
            title="Show the state of chaos",
            description=(
                "Says which faults are registered and at work, how many experiments there are, how many were "
                "run and how many of them kept their steady state. It changes nothing. Returns JSON."
            ),
            arguments=(INCLUDE_RESULTS, FILTER),
            output=STATUS,
            hints=READS,
            run="faultkit.agent_tools.chaos_functions:status",
            failure=status_failure,
        ),
    )
}
