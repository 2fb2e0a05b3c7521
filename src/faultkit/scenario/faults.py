"""Faults as scenario files write them, and the rules of the vocabulary that they stand for.

A type is a kind of the vocabulary or an older name of it; settings may have the shorter names of older
files. Everything else is checked by `faultkit.plan.parse`, whose errors are told in the file's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.documents.values import switch
from faultkit.base.errors import InputError
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.parse import dump_fault
from faultkit.plan import Direction, Side, dump_rule, fresh_name, parse_rule
from faultkit.scenario.model import WrittenFault

TYPES: dict[str, str] = {
    **{kind: kind for kind in NETWORK_FAULTS},
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
"""By kind: other names of its settings (of `probability`, for dns)."""

MATCH_KEYS = ("proxy", "method", "path", "headers")
TRIGGER_KEYS = (PROBABILITY, "first", "after", "every")
FLOW_KEYS = {"side": get_args(Side), "direction": get_args(Direction)}
COMMON_KEYS = ("type", *FLOW_KEYS, "period", *TRIGGER_KEYS, "match")

LATENCY_DEFAULTS: dict[str, dict[str, float]] = {
    "normal": {"mean_ms": 100.0, "stddev_ms": 20.0},
    "uniform": {"min_ms": 20.0, "max_ms": 20.0},
    "pareto": {"shape": 20.0, "scale_ms": 20.0},
    "pareto-normal": {"mean_ms": 100.0, "stddev_ms": 20.0, "shape": 20.0, "scale_ms": 20.0},
}
"""Of scenario files; the vocabulary and the command line have others."""
_OTHER_LOSS_SETTINGS = ("segment_bytes", "rto_ms", "rtt_ms")
"""Settings of packet loss that do not say which segments get lost."""


def keys_of(type_: str) -> tuple[str, ...]:
    """Every key that a fault of this type may have."""
    kind = TYPES[type_]
    return (*COMMON_KEYS, *ALIASES.get(kind, {}), *NETWORK_FAULTS[kind].settings())


def target_of(kind: str, name: str) -> str | None:
    """What a name in a file means for this kind: a setting, `probability`, or nothing."""
    meant = ALIASES.get(kind, {}).get(name, name)
    return meant if meant in NETWORK_FAULTS[kind].settings() or meant == PROBABILITY else None


def parse_fault(value: object, path: str, problems: list[InputError], taken: set[str]) -> WrittenFault | None:
    """None if there are problems, which are noted."""
    before = len(problems)
    type_ = _type(value, path, problems)
    if type_ is None:
        return None
    reading = Reading(value, keys_of(type_), path, problems)
    document, written = _rule_document(type_, reading)
    _check_parts(document, written, reading)
    if len(problems) > before:
        return None
    rule = parse_rule({**document, "name": fresh_name(TYPES[type_], taken)})
    taken.add(rule.name)
    return WrittenFault(type_, rule)


def _type(value: object, path: str, problems: list[InputError]) -> str | None:
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
    problems.append(InputError(joined(path, "type"), problem))
    return None


def _rule_document(type_: str, reading: Reading) -> tuple[dict[str, object], dict[str, str]]:
    """The fault as a rule of a plan file; and for each key that has another name there, the one written."""
    kind = TYPES[type_]
    aliases = ALIASES.get(kind, {})
    settings: dict[str, object] = {}
    trigger: dict[str, object] = {}
    written: dict[str, str] = {meant: name for name, meant in aliases.items() if meant != "per"}
    for key, value in reading.given.items():
        meant = aliases.get(key, key)
        home = trigger if meant in TRIGGER_KEYS else settings
        if meant not in TRIGGER_KEYS and meant not in NETWORK_FAULTS[kind].settings():
            continue
        if meant in home:
            also = written.get(meant, meant)
            reading.note(key, InputError("", f'expected it or "{also}", got both'))
            continue
        written[meant] = key
        home[meant] = _translated(reading, key, value)
    for name, default in _defaults(type_, settings).items():
        settings.setdefault(name, default)
    match = dict(reading.inner("match", MATCH_KEYS).given)
    match.update({key: reading.given[key] for key in FLOW_KEYS if key in reading.given})
    document: dict[str, object] = {"fault": kind, "with": settings, "match": match, "trigger": trigger}
    if "period" in reading.given:
        document["schedule"] = reading.given["period"]
    return document, written


def _translated(reading: Reading, key: str, value: object) -> object:
    translate = _TRANSLATIONS.get((key, type(value)))
    if translate is not None:
        return translate(value)
    if key == "global":
        reading.take(key, switch, True)
        return "connection"
    return value


_TRANSLATIONS: dict[tuple[str, type], Callable[[object], object]] = {
    ("global", bool): lambda once: "connection" if once else "operation",
    ("distribution", str): lambda name: str(name).replace("_", "-"),
}


def _defaults(type_: str, settings: Mapping[str, object]) -> Mapping[str, object]:
    if type_ == "latency":
        return LATENCY_DEFAULTS.get(str(settings.get("distribution", "normal")), {})
    if type_ == "packetloss" and set(settings) <= set(_OTHER_LOSS_SETTINGS):
        return {"model": "five-state"}
    return {}


def _check_parts(document: Mapping[str, object], written: Mapping[str, str], reading: Reading) -> None:
    """Each part by itself, so that no mistake hides another."""
    for part in ("with", "match", "trigger", "schedule"):
        if part not in document:
            continue
        try:
            parse_rule({"fault": document["fault"], part: document[part]})
        except InputError as error:
            path = _path_in_file(error.path, written)
            reading.problems.append(InputError(path, error.problem).within(reading.path))


def _path_in_file(path: str, written: Mapping[str, str]) -> str:
    """`with.mean_ms` of a plan is `mean` of the file, `schedule[0]` is `period[0]`."""
    part, _, rest = path.partition(".")
    if part.startswith("schedule"):
        return "period" + path.removeprefix("schedule")
    if part == "match" and rest not in FLOW_KEYS:
        return path
    return written.get(rest, rest)


def dump_written(fault: WrittenFault) -> dict[str, object]:
    """The plain form that `parse_fault` reads as this fault; shorter names go before the vocabulary's."""
    rule, kind = fault.rule, fault.rule.fault.kind
    settings = dump_fault(rule.fault)
    for name in _defaults(fault.written, settings):
        settings[name] = getattr(rule.fault, name)
    if fault.written == "packetloss" and settings == {"model": "five-state"}:
        settings = {}
    plain = dump_rule(rule)
    parts: dict[str, object] = {}
    for part in ("match", "trigger"):
        given = plain.get(part, {})
        assert isinstance(given, dict)
        parts.update(given)
    match = {key: parts.pop(key) for key in MATCH_KEYS if key in parts}
    names = {meant: name for name, meant in ALIASES.get(kind, {}).items() if meant != "per"}
    dumped = {names.get(name, name): value for name, value in {**settings, **parts}.items()}
    if match:
        dumped["match"] = match
    if rule.schedule.periods:
        dumped["period"] = str(rule.schedule)
    return {"type": fault.written, **dumped}
