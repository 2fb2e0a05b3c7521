"""JSON Schema (draft 2020-12) of a suite file, for editors.

Faults, their settings, agents and matchers are read off the tables. Whatever the parser takes, the schema
takes, but for variables that stand for a whole list or mapping. What only other parts of a suite or its
servers can show to be wrong (a name that is not declared, a tool that is not there) is left to the parser.
"""

from __future__ import annotations

from typing import Any

from faultkit.agents.execute.budget import Budget
from faultkit.agents.kinds.shipped import SHIPPED
from faultkit.agents.matchers.table import MATCHERS
from faultkit.agents.matchers.target import AGENT_ROOTS, TOOL_ROOTS
from faultkit.agents.parse.agent import MOST_TOKENS, USUAL_TOKENS
from faultkit.agents.parse.expect import MAX_DURATION
from faultkit.agents.parse.faults import NEEDED, TARGET_KEYS
from faultkit.agents.parse.providers import TYPES
from faultkit.agents.parse.script import LONGEST_WAIT_MS, MOST_ATTEMPTS
from faultkit.agents.parse.tests import MOST, MOST_RUNS
from faultkit.agents.parse.variables import NAME
from faultkit.base.documents.forms import Schema, chosen_by, closed_object, given, never_both
from faultkit.faults import CALL_FAULTS
from faultkit.faults.parse import fault_schema
from faultkit.mcp.specs import ALIASES, FORM
from faultkit.plan import plan_schema

_TEXT: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "uniqueItems": True}]}
_SWITCH: Schema = {"type": "boolean"}
_WORDS: Schema = {"type": "array", "items": {"type": ["string", "number"]}}
_COMMAND: Schema = {"anyOf": [_TEXT, {**_WORDS, "minItems": 1}]}
_BY_NAME: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
_ARGUMENTS: Schema = {"type": "object", "description": "What the tool is called with."}
_URL: Schema = {"type": "string", "pattern": r"^https?://[^/]|\$\{"}
_VARIABLE: Schema = {"type": "string", "pattern": rf"^\$\{{{NAME}(:-[^}}]*)?\}}$"}
_SCALARS = {"integer", "number", "boolean"}
_AS_THEY_ARE = ("if", "not", "enum", "const", "default", "required", "examples")


def suite_schema() -> Schema:
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit suite",
        "description": "Servers, what to break of them, and tests of agents and tools that meet it.",
        **closed_object({}, _parts()),
        "$defs": _definitions(),
    }
    filled: Schema = _with_variables(schema)
    return filled


def _parts() -> Schema:
    return {
        "servers": _named("server"),
        "server": {"$ref": "#/$defs/server", "description": "The only one of the suite."},
        "default_server": {**_TEXT, "description": "The one of tests that name none."},
        "faults": {"type": "array", "items": {"$ref": "#/$defs/fault"}},
        "agents": {"type": "array", "items": {"$ref": "#/$defs/agent-test"}},
        "tools": {"type": "array", "items": {"$ref": "#/$defs/tool-test"}},
        "providers": _named("provider"),
        "variables": {
            "type": "object",
            "description": "Each is written as ${NAME}; the environment comes after them.",
            "propertyNames": {"pattern": f"^{NAME}$"},
        },
        "imports": {
            "description": "Files whose parts belong to this suite; named from its folder.",
            "anyOf": [_TEXT, {"type": "array", "items": _TEXT}],
        },
        "seed": {"anyOf": [{"type": "integer", "minimum": 0}, _TEXT], "default": 0},
    }


def _named(what: str) -> Schema:
    """By their names, or as a list of entries that have one."""
    entry = {"$ref": f"#/$defs/{what}"}
    return {
        "anyOf": [
            {"type": "object", "additionalProperties": {**entry, "not": {"required": ["name"]}}},
            {"type": "array", "items": {**entry, "required": ["name"]}},
        ]
    }


def _definitions() -> Schema:
    shared: Any = plan_schema()["$defs"]
    kinds = {word: f"fault-{kind}" for kind in CALL_FAULTS for word in (kind, kind.replace("_", "-"))}
    kinds |= {word: f"fault-{kind}" for word, kind in ALIASES.items()}
    return {
        "server": _server(),
        "provider": closed_object(
            {"base_url": _URL},
            {
                "name": _TEXT,
                "type": {"enum": list(TYPES)},
                "api_key_env": {"type": "string", "pattern": f"^{NAME}$"},
                "organization": _TEXT,
            },
        ),
        "fault": {
            "anyOf": [
                {**_TEXT, "description": FORM},
                closed_object({"spec": {**_TEXT, "description": FORM}}, {"name": _TEXT}),
                chosen_by("kind", kinds),
            ]
        },
        **{f"fault-{kind}": _fault(kind) for kind in CALL_FAULTS},
        **{f"with-{kind}": shared[f"with-{kind}"] for kind in CALL_FAULTS},
        "target": _target(shared["match"]["properties"]),
        "trigger": shared["trigger"],
        "schedule": shared["schedule"],
        "period": shared["period"],
        "agent": _agent(),
        "errand": _errand({}),
        "agent-test": _agent_test(),
        "tool-test": _tool_test(),
        "matcher": _one_of({name: each.schema for name, each in MATCHERS.items() if name != "snapshot"}),
    }


def _server() -> Schema:
    schema = closed_object(
        {},
        {
            "name": _TEXT,
            "command": {**_COMMAND, "description": "A program that speaks MCP on its pipes."},
            "args": _WORDS,
            "env": _BY_NAME,
            "cwd": _TEXT,
            "url": _URL,
            "headers": _BY_NAME,
            "mock": {
                "description": "A manifest or a recording: its file, or the manifest itself.",
                "anyOf": [_TEXT, {"type": ["object", "array"]}],
            },
            "tools_from": {"description": "Another name of mock.", "anyOf": [_TEXT, {"type": "object"}]},
        },
    )
    ways = ("command", "url", "mock", "tools_from")
    schema["anyOf"] = [given(way) for way in ways]
    schema["allOf"] = [never_both(one, other) for one in ways for other in ways if one < other]
    schema["allOf"] += [
        {"if": given(key), "then": given(way)}
        for key, way in (("args", "command"), ("env", "command"), ("cwd", "command"), ("headers", "url"))
    ]
    return schema


def _fault(kind: str) -> Schema:
    facts: Any = fault_schema(CALL_FAULTS[kind])
    schema = closed_object(
        {"name": _TEXT, "kind": {"type": "string"}, "target": {"$ref": "#/$defs/target"}},
        {
            **{name: {"$ref": f"#/$defs/with-{kind}/properties/{name}"} for name in facts["properties"]},
            "with": {"$ref": f"#/$defs/with-{kind}"},
            "trigger": {"$ref": "#/$defs/trigger"},
            "schedule": {"$ref": "#/$defs/schedule"},
        },
    )
    schema["description"] = facts["description"]
    needed = NEEDED.get(kind)
    if needed is not None:
        below = {"properties": {"with": {"required": [needed]}}, "required": ["with"]}
        schema["anyOf"] = [given(needed), below]
        if "distribution" in facts["properties"]:
            other = {"properties": {"with": {"required": ["distribution"]}}, "required": ["with"]}
            schema["anyOf"] += [given("distribution"), other]
    return schema


def _target(match: Schema) -> Schema:
    schema = closed_object({}, {key: match[key] for key in TARGET_KEYS})
    return {**schema, "anyOf": [given(key) for key in TARGET_KEYS]}


def _agent_test() -> Schema:
    model = {
        "anyOf": [_TEXT, closed_object({"provider": _TEXT, "id": _TEXT}, {})],
        "description": "A name that says who has it, PROVIDER/MODEL, or both apart.",
    }
    whole = {"type": "integer", "minimum": 1, "maximum": MOST}
    schema = closed_object(
        {"name": _TEXT},
        {
            **_common(AGENT_ROOTS),
            "model": model,
            "models": {"anyOf": [model, {"type": "array", "minItems": 1, "items": model}]},
            "agent": {"$ref": "#/$defs/agent"},
            "servers": _TEXTS,
            "prompt": _TEXT,
            "system_prompt": _TEXT,
            "recovery": _recovery(),
            "orchestration": closed_object(
                {
                    "error_recovery": {
                        "type": "integer",
                        "minimum": 0,
                        "maximum": 100,
                        "description": "The least share of errored calls that recovered later, in percent.",
                    }
                },
                {},
            ),
            "max_turns": {**whole, "default": Budget().turns},
            "max_tokens": {**whole, "maximum": MOST_TOKENS, "default": USUAL_TOKENS},
            "token_budget": whole,
            "max_tool_calls": {**whole, "minimum": 0},
            "time_budget": {
                "type": "string",
                "description": 'A duration with its unit such as "30s", on the clock of the run.',
            },
            "max_cost_usd": {"type": "number", "exclusiveMinimum": 0},
            "runs": {**whole, "maximum": MOST_RUNS, "default": 1},
            "min_pass_rate": {
                **whole,
                "minimum": 1,
                "maximum": 100,
                "description": "Percent of the runs that have to pass; by 95 % confidence, or it is open.",
            },
        },
    )
    who = ("model", "models", "agent")
    schema["anyOf"] = [given(key) for key in who]
    schema["allOf"] = [
        *(never_both(one, other) for one, other in zip(who, (*who[1:], who[0]), strict=True)),
        never_both("agent", "max_tokens"),
        *({"if": given(key), "then": given("prompt")} for key in ("model", "models")),
        {"if": given("recovery"), "then": given("inject")},
    ]
    return schema


def _recovery() -> Schema:
    ms = {"type": "integer", "minimum": 0, "maximum": MOST}
    return closed_object(
        {"max_detection_ms": {**ms, "description": "How long a call may hang until the agent notices."}},
        {
            "max_recovery_ms": {**ms, "description": "How long until its last word, in all."},
            "require_clean_timeout": {**_SWITCH, "default": False},
        },
    )


def _tool_test() -> Schema:
    ms = {"type": "number", "exclusiveMinimum": 0}
    schema = closed_object(
        {"name": _TEXT, "tool": _TEXT},
        {
            **_common(TOOL_ROOTS),
            "server": _TEXT,
            "args": _ARGUMENTS,
            "arguments": _ARGUMENTS,
            MAX_DURATION: ms,
        },
    )
    schema["allOf"] = [never_both("args", "arguments")]
    return schema


def _common(roots: tuple[str, ...]) -> Schema:
    return {
        "inject": {**_TEXTS, "description": "Names of faults."},
        "expect": _expect(roots),
        "allow_unhit": {**_SWITCH, "description": "A fault that was never met is no failure."},
        "tags": _TEXTS,
        "skip": {"anyOf": [_SWITCH, _TEXT], "description": "Why it is left out."},
        "only": _SWITCH,
    }


def _expect(roots: tuple[str, ...]) -> Schema:
    names = "|".join(roots)
    entry = _one_of({name: each.schema for name, each in MATCHERS.items()} | {"matcher": _MATCHER})
    entry["properties"]["target"] = {
        "type": "string",
        "pattern": rf"^({names})([.\[]|$)|\$\{{",
        "default": roots[0],
    }
    del entry["maxProperties"]
    entry["oneOf"] = [{"required": [name]} for name in (*MATCHERS, "matcher")]
    entries: list[Schema] = [entry]
    if roots == TOOL_ROOTS:
        entries.append(closed_object({MAX_DURATION: {"type": "number", "exclusiveMinimum": 0}}, {}))
    each = {"anyOf": entries}
    return {"anyOf": [*entries, {"type": "array", "items": each}]}


_MATCHER: Schema = {"$ref": "#/$defs/matcher"}


def _one_of(schemas: dict[str, Schema]) -> Schema:
    """An object with one of these keys."""
    described = {
        name: {**schema, "description": MATCHERS[name].summary} if name in MATCHERS else schema
        for name, schema in schemas.items()
    }
    return {
        "type": "object",
        "properties": described,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _agent() -> Schema:
    words = [word for kind in SHIPPED for word in dict.fromkeys((kind, kind.replace("_", "-")))]
    goal = {"anyOf": [_TEXT, _errand({"fallback": _ERRAND, "verify": _VERIFY})]}
    return {
        "anyOf": [
            {"enum": words, "description": "One that ships with us, sent for the tool that is broken."},
            closed_object({"kind": {"enum": words}}, {"goal": goal}),
            closed_object(
                {"script": {"type": "array", "minItems": 1, "items": {"anyOf": [_TEXT, _step()]}}},
                {"say": _TEXT, "say_on_failure": _TEXT},
            ),
            closed_object({"command": _COMMAND}, {"env": _BY_NAME, "cwd": _TEXT}),
        ]
    }


def _step() -> Schema:
    attempts = {"type": "integer", "minimum": 0, "maximum": MOST_ATTEMPTS, "description": "0: for ever."}
    retry = closed_object(
        {},
        {
            "attempts": attempts,
            "wait_ms": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_MS},
            "factor": {"type": "number", "minimum": 1, "maximum": 10, "default": 2},
            "jitter": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
            "obeys": {**_SWITCH, "description": "It waits as long as an answer asks it to."},
        },
    )
    step = _errand(
        {
            "retry": {"anyOf": [attempts, retry]},
            "verify": _VERIFY,
            "fallback": _ERRAND,
            "goes_on": {**_SWITCH, "description": "A failure is passed over."},
        }
    )
    step["allOf"].append({"if": given("verify"), "then": given("retry")})
    return step


def _errand(more: Schema) -> Schema:
    schema = closed_object(
        {}, {"call": _TEXT, "tool": _TEXT, "args": _ARGUMENTS, "arguments": _ARGUMENTS, **more}
    )
    schema["anyOf"] = [given("call"), given("tool")]
    schema["allOf"] = [never_both("call", "tool"), never_both("args", "arguments")]
    return schema


_ERRAND: Schema = {"anyOf": [_TEXT, {"$ref": "#/$defs/errand"}]}
_VERIFY: Schema = {
    "description": "Asked before each further attempt.",
    "anyOf": [_TEXT, _errand({"holds": {"type": "string"}})],
}


def _with_variables(schema: Any) -> Any:
    """A variable may stand for each number, truth value and word."""
    if isinstance(schema, list):
        return [_with_variables(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: each if key in _AS_THEY_ARE else _with_variables(each) for key, each in schema.items()}
    types = schema.get("type")
    named = {types} if isinstance(types, str) else set(types) if isinstance(types, list) else set()
    if "string" not in named and (named & _SCALARS or isinstance(schema.get("enum"), list)):
        described = {key: inner.pop(key) for key in ("description", "default") if key in inner}
        return {**described, "anyOf": [inner, _VARIABLE]}
    return inner
