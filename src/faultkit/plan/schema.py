"""JSON Schema (draft 2020-12) of a plan document, for editors and for tools that take a plan.

What a fault's settings are is read off the table; nothing about a single fault is written here.
"""

from __future__ import annotations

from typing import get_args

from faultkit.faults import FAULTS
from faultkit.faults.parse import fault_schema
from faultkit.plan.flow import Direction, Side
from faultkit.plan.match import SUBJECTS, Match
from faultkit.plan.rule import CONDITIONS
from faultkit.plan.schedule import GRAMMAR
from faultkit.plan.trigger import MOST_BURST, Trigger

_TIME = {
    "type": ["string", "number"],
    "minimum": 0,
    "description": 'A duration such as "10s", a share of the run such as "50%", or a number of seconds.',
}
_PERIOD: dict[str, object] = {
    "type": "object",
    "properties": {
        "start": {**_TIME, "default": 0},
        "duration": _TIME,
        "every": _TIME,
        "times": {"type": "integer", "minimum": 1, "description": "How often it holds in all."},
    },
    "dependentRequired": {"every": ["duration"], "times": ["every"]},
    "additionalProperties": False,
}
_GLOB = {"type": "string", "minLength": 1}
_METHOD = {"type": "string", "minLength": 1}


def plan_schema() -> dict[str, object]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit plan",
        "type": "object",
        "properties": {
            "seed": {
                "description": "Same seed and plan: same faults.",
                "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "minLength": 1}],
                "default": 0,
            },
            "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}, "default": []},
        },
        "additionalProperties": False,
        "$defs": {
            "rule": _rule(),
            "match": _match(),
            "trigger": _trigger(),
            "schedule": _schedule(),
            "period": _PERIOD,
            **{f"with-{kind}": fault_schema(fault) for kind, fault in FAULTS.items()},
        },
    }


def _rule() -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "minLength": 1,
                "description": "Unique in the plan; by default the fault's kind.",
            },
            "fault": {"enum": list(FAULTS)},
            "with": {"type": "object", "description": "Settings of the fault.", "default": {}},
            "match": {"$ref": "#/$defs/match"},
            "trigger": {"$ref": "#/$defs/trigger"},
            "schedule": {"$ref": "#/$defs/schedule"},
        },
        "required": ["fault"],
        "additionalProperties": False,
        "allOf": [_if_fault(kind) for kind in FAULTS],
    }


def _if_fault(kind: str) -> dict[str, object]:
    allowed: dict[str, object] = {"with": {"$ref": f"#/$defs/with-{kind}"}}
    level = FAULTS[kind].level
    barred: dict[str, object] = {}
    barred.update({key: False for key, levels in CONDITIONS.items() if level not in levels})
    for key in ("proxy", "side", "direction"):
        if key in barred:
            barred[key] = {"const": getattr(Match(), key)}
    allowed["match"] = {"properties": barred}
    if level != "call":
        allowed["trigger"] = {"properties": {"burst": {"const": Trigger().burst}}}
    return {
        "if": {"properties": {"fault": {"const": kind}}, "required": ["fault"]},
        "then": {"properties": allowed},
    }


def _match() -> dict[str, object]:
    return {
        "type": "object",
        "description": "Where the rule acts. Names, paths and header values are globs.",
        "properties": {
            "proxy": {**_GLOB, "default": Match().proxy},
            "side": {"enum": list(get_args(Side)), "default": Match().side},
            "direction": {"enum": list(get_args(Direction)), "default": Match().direction},
            "method": {"anyOf": [_METHOD, {"type": "array", "items": _METHOD, "minItems": 1}]},
            "path": {**_GLOB, "description": "The path of the request, without its query."},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "server": {**_GLOB, "description": "Of calls: the server's name."},
            **{
                key: {**_GLOB, "description": f"Of calls: the {key} that {method} is about."}
                for key, method in SUBJECTS.items()
            },
        },
        "additionalProperties": False,
    }


def _trigger() -> dict[str, object]:
    return {
        "type": "object",
        "description": "Which of the matched connections, requests, look-ups or calls are hit.",
        "properties": {
            "probability": {"type": "number", "minimum": 0, "maximum": 1, "default": 1},
            "first": {"type": "integer", "minimum": 1, "description": "Only the first of those after."},
            "after": {"type": "integer", "minimum": 0, "default": 0, "description": "So many are spared."},
            "every": {"type": "integer", "minimum": 1, "default": 1, "description": "Only each n-th."},
            "burst": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_BURST,
                "default": 1,
                "description": "So many calls in a row are hit.",
            },
        },
        "additionalProperties": False,
    }


def _schedule() -> dict[str, object]:
    period = {"$ref": "#/$defs/period"}
    return {
        "description": f"When the rule acts: {GRAMMAR}. Always if there is none.",
        "anyOf": [
            {"type": "string"},
            period,
            {"type": "array", "items": {"anyOf": [{"type": "string"}, period]}},
        ],
    }
