"""JSON Schema (draft 2020-12) of one document of a scenario file, for editors.

Faults and their settings are read off the tables. Whatever the parser takes, the schema takes; what only
several keys together can get wrong (such as a step that leads below 0) is left to the parser.
"""

from __future__ import annotations

from typing import Any

from faultkit.base.documents.forms import (
    OR_NOTHING,
    Schema,
    chosen_by,
    closed_object,
    given,
    maybe,
    never_both,
)
from faultkit.base.documents.values import DURATION
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.parse import fault_schema
from faultkit.plan import Match, plan_schema
from faultkit.scenario.call import METHOD, TOKEN, URL
from faultkit.scenario.faults import (
    ALIASES,
    FLOW_KEYS,
    LATENCY_DEFAULTS,
    MATCH_KEYS,
    PROBABILITY,
    TRIGGER_KEYS,
    TYPES,
)
from faultkit.scenario.parse import ERROR_THRESHOLD, OBJECTIVE, SLO_KINDS
from faultkit.scenario.strategy import MODELS, MOST_CALLS, MOST_CLIENTS, MOST_IN_FLIGHT, SPACINGS

_HEADERS: Schema = {"$ref": f"#/$defs/headers{OR_NOTHING}"}
_TEXT: Schema = {"type": "string", "minLength": 1}
_SWITCH: Schema = {"type": "boolean"}
_DURATION: Schema = {"type": "string", "pattern": r"^\s*[0-9.].*[A-Za-zµ]\s*$"}


def scenario_schema() -> Schema:
    shared: Any = plan_schema()["$defs"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit scenario",
        "description": "What to call, what to break around it, and what to expect.",
        **closed_object(
            {
                "title": _TEXT,
                "items": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}},
            },
            {"description": _TEXT, "config": _config()},
        ),
        "$defs": {
            "item": closed_object({"call": _call()}, {"context": _context(), "expect": _expect()}),
            f"headers{OR_NOTHING}": _headers(),
            "fault": chosen_by("type", {type_: f"fault-{type_}" for type_ in TYPES}),
            f"strategy{OR_NOTHING}": maybe(
                chosen_by("mode", {mode: f"strategy-{mode}" for mode in _STRATEGIES})
            ),
            "slo": _slo(),
            "schedule": shared["schedule"],
            "period": shared["period"],
            **{f"fault-{type_}": _fault(type_, shared) for type_ in TYPES},
            **{f"strategy-{mode}": schema for mode, schema in _STRATEGIES.items()},
        },
    }


def _milliseconds(help: str, bound: Schema) -> Schema:
    return {
        "description": f'{help} A number of milliseconds, or text such as "500ms".',
        "anyOf": [{"type": "number", **bound}, _DURATION],
    }


def _above(limit: float, **more: Any) -> Schema:
    return {"type": "number", "exclusiveMinimum": limit, **more}


def _config() -> Schema:
    segments = {
        "type": "object",
        "description": "Values for {name} in URLs; they are percent-encoded.",
        "additionalProperties": _TEXT,
    }
    http = closed_object({}, {"headers": _HEADERS, "paths": closed_object({}, {"segments": segments})})
    return {"description": "What all calls have in common.", **closed_object({}, {"http": http})}


def _headers() -> Schema:
    return {
        "type": ["object", "null"],
        "propertyNames": {"pattern": f"^{TOKEN}$"},
        "additionalProperties": {"type": "string"},
    }


def _call() -> Schema:
    return closed_object(
        {
            "method": {
                "type": "string",
                "pattern": f"^{TOKEN}$",
                "description": f"{METHOD[0].upper()}{METHOD[1:]}.",
            },
            "url": {
                "type": "string",
                "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^/]",
                "description": f"{URL[0].upper()}{URL[1:]}; {{name}} stands for a segment of config.",
            },
        },
        {
            "headers": _HEADERS,
            "body": {
                "type": ["string", "object", "array"],
                "description": "Text as it is; a mapping or a list is sent as JSON.",
            },
            "timeout": _milliseconds("For the whole call.", {"exclusiveMinimum": 0}),
            "meta": closed_object({}, {"operation_id": _TEXT}),
        },
    )


def _context() -> Schema:
    proxy = closed_object(
        {},
        {
            "disable_http_proxies": {**_SWITCH, "default": False},
            "proxies": {
                "type": "array",
                "description": 'Maps such as "9090=https://example.com".',
                "items": {"type": "string", "pattern": "="},
            },
        },
    )
    return closed_object(
        {},
        {
            "upstreams": {
                "type": "array",
                "description": "Hosts whose traffic is broken; by default the host of the call.",
                "items": _TEXT,
            },
            "faults": {"type": "array", "items": {"$ref": "#/$defs/fault"}},
            "strategy": {"$ref": f"#/$defs/strategy{OR_NOTHING}"},
            "slo": {"type": "array", "items": {"$ref": "#/$defs/slo"}},
            "proxy": proxy,
            "runs_on": {"type": "null", "description": "Not supported: scenarios run on this machine."},
        },
    )


def _expect() -> Schema:
    return closed_object(
        {},
        {
            "status": {"type": "integer", "minimum": 100, "maximum": 599},
            "response_time_under": _milliseconds("The call must be faster.", {"exclusiveMinimum": 0}),
            "all_slo_are_valid": {**_SWITCH, "description": "A missed objective fails the item."},
        },
    )


_STRATEGIES: dict[str, Schema] = {
    "single": closed_object({"mode": {"const": "single"}}, {}),
    "repeat": closed_object(
        {
            "mode": {"const": "repeat"},
            "step": {"type": "number", "description": "Added to the fault, call after call."},
            "count": {"type": "integer", "minimum": 1, "maximum": MOST_CALLS},
        },
        {
            "wait": _milliseconds("Between two calls.", {"minimum": 0}),
            "failfast": {**_SWITCH, "default": False, "description": "Stop at the first failure."},
            "add_baseline_call": {
                **_SWITCH,
                "default": False,
                "description": "Begin with a call without faults.",
            },
            "step_of": {**_TEXT, "description": "The setting that grows, such as mean_ms."},
        },
    ),
    "load": closed_object(
        {
            "mode": {"const": "load"},
            "duration": {**_DURATION, "description": f"{DURATION[0].upper()}{DURATION[1:]}."},
        },
        {
            "clients": {"type": "integer", "minimum": 1, "maximum": MOST_CLIENTS, "default": 1},
            "rps": _above(0, description="Requests a second of each client."),
            "model": {
                "enum": list(MODELS),
                "default": "open",
                "description": "Open: requests start on time, whatever others do. Closed: clients wait.",
            },
            "ramp": {**_DURATION, "description": "The rate rises from 0 for so long."},
            "spacing": {"enum": list(SPACINGS), "default": "even"},
            "keep_alive": {**_SWITCH, "default": False, "description": "Use connections again."},
            "max_in_flight": {"type": "integer", "minimum": 1, "maximum": MOST_IN_FLIGHT, "default": 1000},
        },
    )
    | {
        "if": {"properties": {"model": {"const": "closed"}}, "required": ["model"]},
        "else": {"properties": {"rps": {"type": "number"}}, "required": ["rps"]},
    },
}


def _slo() -> Schema:
    kinds = {"enum": list(SLO_KINDS)}
    thresholds: dict[str, Schema] = {
        "latency": {"not": {"type": "null"}},
        "error": _above(0, maximum=100, description=f"{ERROR_THRESHOLD[0].upper()}{ERROR_THRESHOLD[1:]}."),
    }
    schema = closed_object(
        {"objective": _above(0, exclusiveMaximum=100, description=f"{OBJECTIVE[0].upper()}{OBJECTIVE[1:]}.")},
        {
            "type": kinds,
            "slo_type": {**kinds, "description": "Another name of type."},
            "title": _TEXT,
            "threshold": _milliseconds("Or, of error, a percentage.", {"exclusiveMinimum": 0}),
            "window": {**_DURATION, "description": "Every stretch of this length must keep the objective."},
        },
    )
    schema["anyOf"] = [given("type"), given("slo_type")]
    schema["allOf"] = [never_both("type", "slo_type")] + [
        {
            "if": {
                "anyOf": [
                    {"properties": {key: {"const": kind}}, "required": [key]} for key in ("type", "slo_type")
                ]
            },
            "then": {"properties": {"threshold": threshold}, "required": ["threshold"]},
        }
        for kind, threshold in thresholds.items()
    ]
    return schema


def _fault(type_: str, shared: Any) -> Schema:
    kind = TYPES[type_]
    facts: Any = fault_schema(NETWORK_FAULTS[kind])
    settings: dict[str, Schema] = dict(facts["properties"])
    trigger: dict[str, Schema] = shared["trigger"]["properties"]
    for name, default in _usual_values(type_).items():
        settings[name] = {**settings[name], "default": default}
    if kind == "latency":
        choices = settings["distribution"]["enum"]
        settings["distribution"] = {**settings["distribution"], "enum": [*choices, "pareto_normal"]}
    aliases = {
        name: trigger[PROBABILITY] if meant == PROBABILITY else settings[meant]
        for name, meant in ALIASES.get(kind, {}).items()
    }
    if "global" in aliases:
        aliases["global"] = {
            **_SWITCH,
            "default": True,
            "description": "Once a connection, or at every read.",
        }
    schema = closed_object(
        {"type": {"const": type_}},
        {
            **aliases,
            **settings,
            **_flow(kind, shared),
            **{key: trigger[key] for key in TRIGGER_KEYS},
            "period": {"$ref": "#/$defs/schedule"},
            "match": _match(kind, shared),
        },
    )
    barred = [never_both(name, meant) for name, meant in ALIASES.get(kind, {}).items()]
    return {**schema, "description": facts["description"], **({"allOf": barred} if barred else {})}


def _usual_values(type_: str) -> dict[str, Any]:
    if type_ == "latency":
        return {name: value for usual in LATENCY_DEFAULTS.values() for name, value in usual.items()}
    return {"model": "five-state"} if type_ == "packetloss" else {}


def _flow(kind: str, shared: Any) -> Schema:
    places = shared["match"]["properties"]
    if NETWORK_FAULTS[kind].level == "stream":
        return {key: places[key] for key in FLOW_KEYS}
    return {key: {"enum": [getattr(Match(), key)]} for key in FLOW_KEYS}


def _match(kind: str, shared: Any) -> Schema:
    places = shared["match"]["properties"]
    keys = MATCH_KEYS if NETWORK_FAULTS[kind].level == "http" else MATCH_KEYS[:1]
    return closed_object({}, {key: places[key] for key in keys})
