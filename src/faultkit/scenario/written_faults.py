"""Faults as scenario files write them, and the rules of the vocabulary that they stand for.

A type is a kind of the vocabulary or an older name of it; settings may have the shorter names of older
files. `faultkit.plan.plan_keys` checks everything else; its errors are rewritten with the keys of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, get_args

from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, never_both, value_schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import SWITCH_SCHEMA, switch
from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS, FAULTS, PROXY_FAULTS
from faultkit.faults.fault import Fault
from faultkit.faults.fault_data import fault_schema
from faultkit.faults.http_fault import AnswerFault
from faultkit.plan import Direction, Side, acts_elsewhere, fresh_name, parse_rule
from faultkit.plan.plan_keys import MATCH, TRIGGER
from faultkit.plan.rule import message_conditions
from faultkit.scenario.scenario_model import WrittenFault

TYPES: dict[str, str] = {
    **{kind: kind for kind in PROXY_FAULTS},
    "packetloss": "packet_loss",
    "httperror": "http_error",
}
"""Each type that a file may name, and its kind."""

PROBABILITY = "probability"
ALIASES: dict[str, dict[str, str]] = {
    "latency": {
        "mean": "mean_ms",
        "stddev": "stddev_ms",
        "min": "min_ms",
        "max": "max_ms",
        "scale": "scale_ms",
        "global": "per",
    },
    "jitter": {"amplitude": "amplitude_ms", "frequency": "frequency_hz"},
    "http_error": {"status_code": "status"},
    "dns": {"rate": PROBABILITY},
}
"""By kind: older names of its settings, and for dns of the probability."""

MATCH_KEYS = ("proxy", "method", "path", "headers", "status")
MODEL_KEYS = ("model", "streamed", "tool_use")
TRIGGER_KEYS = (PROBABILITY, "first", "after", "every")
FLOW_KEYS = {"side": get_args(Side), "direction": get_args(Direction)}
COMMON_KEYS = ("type", *FLOW_KEYS, "period", *TRIGGER_KEYS, "match")

LATENCY_DEFAULTS: dict[str, dict[str, float]] = {
    "normal": {"mean_ms": 100.0, "stddev_ms": 20.0},
    "uniform": {"min_ms": 20.0, "max_ms": 20.0},
    "pareto": {"shape": 20.0, "scale_ms": 20.0},
    "pareto-normal": {"mean_ms": 100.0, "stddev_ms": 20.0, "shape": 20.0, "scale_ms": 20.0},
}
"""Defaults of scenario files, by distribution; those of the vocabulary and the command line differ."""
_OTHER_LOSS_SETTINGS = ("segment_bytes", "rto_ms", "rtt_ms")
"""Settings of packet loss that do not choose which segments get lost."""


@cache
def fault_keys(type_: str) -> KeyTable:
    """Return the table of every key that a fault of this type may have."""
    kind = TYPES[type_]
    fault, aliases = PROXY_FAULTS[kind], ALIASES.get(kind, {})
    is_stream = fault.level == "stream"
    return KeyTable(
        Key("type", schema={"const": type_}, required="a type"),
        *(
            Key(key, schema=value_schema(MATCH[key]) if is_stream else {"enum": [MATCH[key].default]})
            for key in FLOW_KEYS
        ),
        Key("period", schema={"$ref": "#/$defs/schedule"}),
        *(Key(key, schema=value_schema(TRIGGER[key])) for key in TRIGGER_KEYS),
        # The plan's parser reads the values; here only the keys that suit the fault are known.
        Key(
            "match",
            schema=KeyTable(*(Key(key, schema=value_schema(MATCH[key])) for key in _match_keys(fault))),
        ),
        *(Key(name, schema=partial(_alias_schema, type_, name)) for name in aliases),
        *(Key(name, schema=partial(_setting_schema, type_, name)) for name in fault.settings()),
        rules=partial(_fault_rules, kind),
    )


def _match_keys(fault: type[Fault]) -> tuple[str, ...]:
    """Return the conditions that a fault takes."""
    if fault.level not in ("http", "llm"):
        return MATCH_KEYS[:1]
    of_requests = MATCH_KEYS if issubclass(fault, AnswerFault) else MATCH_KEYS[:-1]
    return (*of_requests, *_own_conditions(fault))


def _own_conditions(fault: type[Fault]) -> tuple[str, ...]:
    """Return the conditions on messages of WebSocket or on requests to models that a fault takes."""
    return MODEL_KEYS if fault.level == "llm" else message_conditions(fault)


def _setting_schema(type_: str, name: str) -> Schema:
    kind = TYPES[type_]
    settings: Any = fault_schema(PROXY_FAULTS[kind])["properties"]
    schema: Schema = dict(settings[name])
    defaults: dict[str, object] = {"model": "five-state"} if type_ == "packetloss" else {}
    if type_ == "latency":
        defaults = {name: value for values in LATENCY_DEFAULTS.values() for name, value in values.items()}
    if name in defaults:
        schema["default"] = defaults[name]
    if kind == "latency" and name == "distribution":
        schema["enum"] = [*schema["enum"], "pareto_normal"]
    return schema


def _alias_schema(type_: str, name: str) -> Schema:
    if name == "global":
        return {**SWITCH_SCHEMA, "default": True, "description": "Once a connection, or at every read."}
    meant = ALIASES[TYPES[type_]][name]
    return value_schema(TRIGGER[PROBABILITY]) if meant == PROBABILITY else _setting_schema(type_, meant)


def _fault_rules(kind: str) -> Schema:
    exclusive = [never_both(name, meant) for name, meant in ALIASES.get(kind, {}).items()]
    description = {"description": fault_schema(PROXY_FAULTS[kind])["description"]}
    return {**description, "allOf": exclusive} if exclusive else description


def setting_named(kind: str, name: str) -> str | None:
    """Return the setting that a name in a file stands for, or `probability`; None if the kind has none."""
    meant = ALIASES.get(kind, {}).get(name, name)
    return meant if meant in FAULTS[kind].settings() or meant == PROBABILITY else None


def parse_fault(value: object, path: str, problems: list[InputError], taken: set[str]) -> WrittenFault | None:
    """Return the fault of a mapping; None if it has problems, which are added to the list."""
    before = len(problems)
    type_ = _parse_type(value, path, problems)
    if type_ is None:
        return None
    reader = MappingReader(value, fault_keys(type_), path, problems)
    document, written = _rule_document(type_, reader)
    _check_sections(document, written, reader)
    if len(problems) > before:
        return None
    rule = parse_rule({**document, "name": fresh_name(TYPES[type_], taken)})
    taken.add(rule.name)
    return WrittenFault(type_, rule)


def _parse_type(value: object, path: str, problems: list[InputError]) -> str | None:
    if not isinstance(value, Mapping):
        problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
        return None
    given = value.get("type")
    if isinstance(given, str) and given in TYPES:
        return given
    known = tuple(TYPES)
    problem = f"expected one of {', '.join(known)}, got {shown(given)}"
    if isinstance(given, str):
        problem = f"unknown fault {shown(given)}; {advice(given, known)}"
        if given in CALL_FAULTS:
            problem = f"expected a fault of the network, got {shown(given)}, which "
            problem += acts_elsewhere(CALL_FAULTS[given])
    problems.append(InputError(join_path(path, "type"), problem))
    return None


def _rule_document(type_: str, reader: MappingReader) -> tuple[dict[str, object], dict[str, str]]:
    """Return the fault as a rule of a plan file, and the key in the scenario file of each of its settings."""
    kind = TYPES[type_]
    aliases = ALIASES.get(kind, {})
    settings: dict[str, object] = {}
    trigger: dict[str, object] = {}
    written: dict[str, str] = {meant: name for name, meant in aliases.items() if meant != "per"}
    for key, value in reader.given.items():
        meant = aliases.get(key, key)
        home = trigger if meant in TRIGGER_KEYS else settings
        if meant not in TRIGGER_KEYS and meant not in PROXY_FAULTS[kind].settings():
            continue
        if meant in home:
            also = written.get(meant, meant)
            reader.note(key, InputError("", f'expected it or "{also}", got both'))
            continue
        written[meant] = key
        home[meant] = _translate(reader, key, value)
    for name, default in default_settings(type_, settings).items():
        settings.setdefault(name, default)
    match_keys = (*MATCH_KEYS, *_own_conditions(PROXY_FAULTS[kind]))
    match = dict(reader.inner("match", match_keys).given)
    match.update({key: reader.given[key] for key in FLOW_KEYS if key in reader.given})
    document: dict[str, object] = {"fault": kind, "with": settings, "match": match, "trigger": trigger}
    if "period" in reader.given:
        document["schedule"] = reader.given["period"]
    return document, written


def _translate(reader: MappingReader, key: str, value: object) -> object:
    translate = _TRANSLATIONS.get((key, type(value)))
    if translate is not None:
        return translate(value)
    if key == "global":
        reader.take(key, switch, True)
        return "connection"
    return value


_TRANSLATIONS: dict[tuple[str, type], Callable[[object], object]] = {
    ("global", bool): lambda once: "connection" if once else "operation",
    ("distribution", str): lambda name: str(name).replace("_", "-"),
}


def default_settings(type_: str, settings: Mapping[str, object]) -> Mapping[str, object]:
    """Return the defaults of scenario files for settings that are not given."""
    if type_ == "latency":
        return LATENCY_DEFAULTS.get(str(settings.get("distribution", "normal")), {})
    if type_ == "packetloss" and set(settings) <= set(_OTHER_LOSS_SETTINGS):
        return {"model": "five-state"}
    return {}


def _check_sections(
    document: Mapping[str, object], written: Mapping[str, str], reader: MappingReader
) -> None:
    """Check each section of the rule by itself, so that no mistake hides another."""
    for section in ("with", "match", "trigger", "schedule"):
        if section not in document:
            continue
        try:
            parse_rule({"fault": document["fault"], section: document[section]})
        except InputError as error:
            path = _path_in_file(error.path, written)
            reader.problems.append(error.at(path).within(reader.path))


def _path_in_file(path: str, written: Mapping[str, str]) -> str:
    """Return the path in the scenario file: `mean` for `with.mean_ms`, `period[0]` for `schedule[0]`."""
    section, _, rest = path.partition(".")
    if section.startswith("schedule"):
        return "period" + path.removeprefix("schedule")
    if section == "match" and rest not in FLOW_KEYS:
        return path
    return written.get(rest, rest)
