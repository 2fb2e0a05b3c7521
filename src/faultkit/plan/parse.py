"""From a document (what YAML or JSON gave) to a plan, with the path of whatever is wrong.

Settings of faults are parsed by `faultkit.faults.parse`, files are read by `faultkit.plan.file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from faultkit.base.documents.shape import complaint, mapping, number, sequence, shown, text, whole
from faultkit.base.errors import InputError
from faultkit.faults.fault import Fault
from faultkit.faults.parse import fault_type, parse_fault
from faultkit.plan.flow import Direction, Side
from faultkit.plan.match import Match
from faultkit.plan.plan import Plan
from faultkit.plan.rule import Rule, fresh_name
from faultkit.plan.schedule import Schedule, parse_schedule
from faultkit.plan.trigger import Trigger

PLAN_KEYS = ("seed", "rules")
RULE_KEYS = ("name", "fault", "with", "match", "trigger", "schedule")
MATCH_KEYS = (
    "proxy",
    "side",
    "direction",
    "method",
    "path",
    "headers",
    "server",
    "tool",
    "resource",
    "prompt",
)
TRIGGER_KEYS = ("probability", "first", "after", "every", "burst")
_GLOBS = ("proxy", "path", "server", "tool", "resource", "prompt")


def parse_plan(document: object) -> Plan:
    given = mapping(document, PLAN_KEYS, "")
    entries = sequence(given.get("rules", []), "rules", "rules")
    taken = _given_names(entries)
    rules = []
    for index, entry in enumerate(entries):
        try:
            rule = parse_rule(entry, taken)
        except InputError as error:
            raise error.within(f"rules[{index}]") from None
        taken.add(rule.name)
        rules.append(rule)
    try:
        return Plan(tuple(rules), _seed(given.get("seed", 0)))
    except ValueError as error:
        raise complaint("", error) from None


def _given_names(entries: list[object]) -> set[str]:
    """Names that users chose go before names that we make up, wherever they stand."""
    chosen = (entry["name"] for entry in entries if isinstance(entry, Mapping) and "name" in entry)
    return {name for name in chosen if isinstance(name, str)}


def _seed(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError("seed", f"expected a whole number of at least 0 or a text, got {shown(value)}")
    return value


def parse_rule(document: object, taken: set[str] | frozenset[str] = frozenset()) -> Rule:
    """One rule. Without a name of its own it gets its fault's kind, made unlike those taken."""
    given = mapping(document, RULE_KEYS, "")
    fault = _fault(given)
    if "name" in given:
        name = text(given["name"], "a text", "name")
    else:
        name = fresh_name(fault.kind, taken)
    match = _match(given["match"]) if "match" in given else Match()
    trigger = _trigger(given["trigger"]) if "trigger" in given else Trigger()
    schedule = parse_schedule(given["schedule"]) if "schedule" in given else Schedule()
    try:
        return Rule(name, fault, match, trigger, schedule)
    except ValueError as error:
        raise complaint("", error) from None


def _fault(given: Mapping[str, object]) -> Fault:
    kind = given.get("fault")
    if not isinstance(kind, str):
        raise InputError("fault", f"expected the kind of a fault such as latency or hang, got {shown(kind)}")
    settings = given.get("with", {})
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


def _match(value: object) -> Match:
    given = mapping(value, MATCH_KEYS, "match")
    values: dict[str, Any] = {
        key: text(given[key], "a name or a glob", f"match.{key}") for key in _GLOBS if key in given
    }
    for key, choices in (("side", get_args(Side)), ("direction", get_args(Direction))):
        if key in given:
            values[key] = text(given[key], f"one of {', '.join(choices)}", f"match.{key}")
    if "method" in given:
        values["method"] = _method(given["method"])
    if "headers" in given:
        values["headers"] = _headers(given["headers"])
    try:
        return Match(**values)
    except ValueError as error:
        raise complaint("match", error) from None


def _method(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    methods = sequence(value, "methods (or one method)", "match.method")
    return tuple(text(each, "a method", f"match.method[{i}]") for i, each in enumerate(methods))


def _headers(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise InputError("match.headers", f"expected a mapping of names to globs, got {shown(value)}")
    for name, glob in value.items():
        if not isinstance(name, str):
            raise InputError("match.headers", f"expected a header name, got {shown(name)}")
        if not isinstance(glob, str):
            raise InputError(f"match.headers.{name}", f"expected a glob in quotes, got {shown(glob)}")
    return tuple(value.items())


def _trigger(value: object) -> Trigger:
    given = mapping(value, TRIGGER_KEYS, "trigger")
    values: dict[str, Any] = {
        key: whole(given[key], f"a whole number of at least {least}", f"trigger.{key}")
        for key, least in (("first", 1), ("after", 0), ("every", 1), ("burst", 1))
        if key in given
    }
    if "probability" in given:
        expected = "a number from 0 to 1"
        values["probability"] = number(given["probability"], expected, "trigger.probability")
    try:
        return Trigger(**values)
    except ValueError as error:
        raise complaint("trigger", error) from None
