"""The keys of plan files: from a document (YAML or JSON data) to a plan, and the JSON Schema of plan files.

Each mapping is declared once as a table of keys. Reading stops at the first mistake and raises it with its
path: a plan also comes from flags and over HTTP, where one error is reported. Settings of faults are parsed
by `faultkit.faults.fault_data`, files are read by `faultkit.plan.plan_file`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from faultkit.base.documents.checks import field_error, number, sequence, shown, text, whole_number
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import read_seed, switch
from faultkit.base.errors import InputError
from faultkit.faults import FAULTS
from faultkit.faults.fault import Fault
from faultkit.faults.fault_data import fault_schema, fault_type, parse_fault
from faultkit.faults.http_fault import AnswerFault
from faultkit.plan.match import SUBJECTS, Direction, Flow, Match, MessageKind, Side
from faultkit.plan.plan import Plan
from faultkit.plan.rule import CONDITIONS, MESSAGE_CONDITIONS, Rule, fresh_name, message_conditions
from faultkit.plan.schedule import GRAMMAR, PERIOD, Schedule, parse_schedule
from faultkit.plan.trigger import MOST_BURST, Trigger

_GLOB: Schema = {"type": "string", "minLength": 1}
_STATUS: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 200, "maximum": 599},
        {"type": "string", "pattern": "^[2-5]([0-9][0-9]|xx)$"},
    ]
}
_METHOD: Schema = {"type": "string", "minLength": 1}


def _glob(value: object) -> str:
    return text(value, "a name or a glob", "")


def _choice(choices: tuple[str, ...]) -> Callable[[object], str]:
    return lambda value: text(value, f"one of {', '.join(choices)}", "")


def _count(least: int) -> Callable[[object], int]:
    return lambda value: whole_number(value, f"a whole number of at least {least}", "")


def _methods(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    methods = sequence(value, "methods (or one method)", "")
    return tuple(text(each, "a method", f"[{index}]") for index, each in enumerate(methods))


def _statuses(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, (list, tuple)) else [value]
    for status in given:
        if type(status) is not int and not isinstance(status, str):
            raise InputError("", f"expected a status such as 503 or 2xx, or a list, got {shown(status)}")
    return tuple(str(status) for status in given)


def _headers(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to globs, got {shown(value)}")
    for name, glob in value.items():
        if not isinstance(name, str):
            raise InputError("", f"expected a header name, got {shown(name)}")
        if not isinstance(glob, str):
            raise InputError(name, f"expected a glob in quotes, got {shown(glob)}")
    return tuple(value.items())


MATCH = KeyTable(
    Key("proxy", _glob, {**_GLOB, "default": Match().proxy}, help="The name of the proxy."),
    Key(
        "side",
        _choice(get_args(Side)),
        {"enum": list(get_args(Side))},
        Match().side,
        "Which socket of the proxy: the one to the client or the one to the server.",
    ),
    Key(
        "direction",
        _choice(get_args(Direction)),
        {"enum": list(get_args(Direction))},
        Match().direction,
        "Bytes that the proxy reads from that socket, writes to it, or both.",
    ),
    Key(
        "method",
        _methods,
        {"anyOf": [_METHOD, {"type": "array", "items": _METHOD, "minItems": 1}]},
        help="The method of the request or call, or a list of methods.",
    ),
    Key("path", _glob, _GLOB, help="The path of the request, without its query."),
    Key(
        "headers",
        _headers,
        {"type": "object", "additionalProperties": {"type": "string"}},
        help="Names of headers, each with a glob for its value.",
    ),
    Key(
        "status",
        _statuses,
        {"anyOf": [_STATUS, {"type": "array", "items": _STATUS, "minItems": 1}]},
        help="Faults of answers: the status of the upstream's answer, such as 503 or 2xx, or a list.",
    ),
    Key(
        "flow",
        _choice(get_args(Flow)),
        {"enum": list(get_args(Flow))},
        help="Faults of WebSocket messages: which way they go; by default both.",
    ),
    Key(
        "message",
        _choice(get_args(MessageKind)),
        {"enum": list(get_args(MessageKind))},
        help="Faults of WebSocket messages: text or binary; by default both.",
    ),
    Key("server", _glob, _GLOB, help="Faults of calls: the name of the server."),
    *(
        Key(subject, _glob, _GLOB, help=f"Faults of calls: the {subject} that {method} names.")
        for subject, method in SUBJECTS.items()
    ),
    Key("model", _glob, _GLOB, help="Faults of LLM APIs: the model of the request."),
    Key("streamed", switch, {"type": "boolean"}, help="Faults of LLM APIs: whether the answer is streamed."),
    Key(
        "tool_use",
        switch,
        {"type": "boolean"},
        help="Faults of LLM APIs: whether the request offers tools or brings their results.",
    ),
    help="Where the rule acts. Names, paths and header values are globs.",
    has_nulls=False,
)

TRIGGER = KeyTable(
    Key(
        "probability",
        lambda value: number(value, "a number from 0 to 1", ""),
        {"type": "number", "minimum": 0, "maximum": 1},
        1,
        "The probability that each of those left is hit.",
    ),
    Key(
        "first",
        _count(1),
        {"type": "integer", "minimum": 1},
        help="Only the first so many after the spared ones may be hit.",
    ),
    Key("after", _count(0), {"type": "integer", "minimum": 0}, 0, "So many are spared at first."),
    Key(
        "every",
        _count(1),
        {"type": "integer", "minimum": 1},
        1,
        "Only each n-th of those: with 3, the third, the sixth …",
    ),
    Key(
        "burst",
        _count(1),
        {"type": "integer", "minimum": 1, "maximum": MOST_BURST},
        1,
        "Faults of calls: so many calls in a row are hit each time.",
    ),
    help="Which of the matched connections, requests, messages, look-ups or calls are hit.",
    has_nulls=False,
)


def _rules_by_fault() -> Schema:
    """Return the JSON Schema rules that tie settings and conditions to the kind of the fault."""
    return {"allOf": [_if_fault(kind) for kind in FAULTS]}


def _if_fault(kind: str) -> Schema:
    level = FAULTS[kind].level
    barred: Schema = {key: False for key, levels in CONDITIONS.items() if level not in levels}
    for key in ("proxy", "side", "direction"):
        if key in barred:
            # These have a default, so writing the default is allowed.
            barred[key] = {"const": getattr(Match(), key)}
    if not issubclass(FAULTS[kind], AnswerFault):
        barred["status"] = False
    fitting = message_conditions(FAULTS[kind])
    barred |= {key: False for key in MESSAGE_CONDITIONS if key not in fitting}
    allowed: Schema = {"with": {"$ref": f"#/$defs/with-{kind}"}, "match": {"properties": barred}}
    if level != "call":
        allowed["trigger"] = {"properties": {"burst": {"const": Trigger().burst}}}
    return {
        "if": {"properties": {"fault": {"const": kind}}, "required": ["fault"]},
        "then": {"properties": allowed},
    }


RULE = KeyTable(
    Key(
        "name",
        lambda value: text(value, "a text", ""),
        {"type": "string", "minLength": 1},
        help="Unique in the plan; by default the fault's kind.",
    ),
    Key(
        "fault",
        schema=lambda: {"enum": list(FAULTS)},
        docs_help="The kind of the fault: see [faults.md](faults.md).",
        required="the kind of a fault such as latency or hang",
    ),
    Key("with", schema={"type": "object", "default": {}}, help="Settings of the fault."),
    Key("match", schema={"$ref": "#/$defs/match"}, docs_help="Where the rule acts; by default everywhere."),
    Key("trigger", schema={"$ref": "#/$defs/trigger"}, docs_help="How often it acts; by default each time."),
    Key(
        "schedule",
        schema={"$ref": "#/$defs/schedule"},
        docs_help="When it acts: a text, a period, or a list of both; by default always.",
    ),
    rules=_rules_by_fault,
    has_nulls=False,
)

PLAN = KeyTable(
    Key(
        "seed",
        read_seed,
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "minLength": 1}], "default": 0},
        0,
        "Same seed and plan: same faults.",
    ),
    Key(
        "rules",
        lambda value: sequence(value, "rules", ""),
        {"type": "array", "items": {"$ref": "#/$defs/rule"}, "default": []},
        (),
        "The faults, each with where and when it acts.",
    ),
    has_nulls=False,
)


def parse_plan(document: object) -> Plan:
    """Return the plan of a document. Raises InputError for the first mistake, with its path."""
    reader = MappingReader(document, PLAN)
    entries = reader.take("rules")
    # Names that users chose take precedence over generated ones, wherever they stand.
    taken = {
        entry["name"]
        for entry in entries
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
    }
    rules = []
    for index, entry in enumerate(entries):
        try:
            rule = parse_rule(entry, taken)
        except InputError as error:
            raise error.within(f"rules[{index}]") from None
        taken.add(rule.name)
        rules.append(rule)
    try:
        return Plan(tuple(rules), reader.take("seed"))
    except ValueError as error:
        raise field_error("", error) from None


def parse_rule(document: object, taken: set[str] | frozenset[str] = frozenset()) -> Rule:
    """Return one rule. Without a name of its own it gets its fault's kind, with a number if that is taken."""
    reader = MappingReader(document, RULE)
    fault = _fault(reader)
    name = reader.take("name") if "name" in reader.given else fresh_name(fault.kind, taken)
    match = _parse_match(reader.given["match"]) if "match" in reader.given else Match()
    trigger = _parse_trigger(reader.given["trigger"]) if "trigger" in reader.given else Trigger()
    schedule = parse_schedule(reader.given["schedule"]) if "schedule" in reader.given else Schedule()
    try:
        return Rule(name, fault, match, trigger, schedule)
    except ValueError as error:
        raise field_error("", error) from None


def _fault(reader: MappingReader) -> Fault:
    kind = reader.given.get("fault")
    if not isinstance(kind, str):
        raise InputError("fault", f"expected {RULE['fault'].required}, got {shown(kind)}")
    settings = reader.given.get("with", {})
    if not isinstance(settings, Mapping):
        raise InputError("with", f"expected a mapping, got {shown(settings)}")
    try:
        fault_type(kind)
    except InputError as error:
        raise error.within("fault") from None
    try:
        return parse_fault(kind, settings)
    except InputError as error:
        raise error.within("with") from None


def _parse_match(value: object) -> Match:
    values = MappingReader(value, MATCH, "match").values()
    try:
        return Match(**values)
    except ValueError as error:
        raise field_error("match", error) from None


def _parse_trigger(value: object) -> Trigger:
    values = MappingReader(value, TRIGGER, "trigger").values()
    try:
        return Trigger(**values)
    except ValueError as error:
        raise field_error("trigger", error) from None


def plan_schema() -> Schema:
    """Return the JSON Schema of plan files."""
    period = {"$ref": "#/$defs/period"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit plan",
        **schema_of(PLAN),
        "$defs": {
            "rule": schema_of(RULE),
            "match": schema_of(MATCH),
            "trigger": schema_of(TRIGGER),
            "schedule": {
                "description": f"When the rule acts: {GRAMMAR}. Always if there is none.",
                "anyOf": [
                    {"type": "string"},
                    period,
                    {"type": "array", "items": {"anyOf": [{"type": "string"}, period]}},
                ],
            },
            "period": schema_of(PERIOD),
            **{f"with-{kind}": fault_schema(fault) for kind, fault in FAULTS.items()},
        },
    }
