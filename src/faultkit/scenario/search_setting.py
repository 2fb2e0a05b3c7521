"""The settings that a search can vary: their names in files, their values as text, and the rules and the load
at a value. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from faultkit.base.documents.checks import advice, shown
from faultkit.base.documents.values import number
from faultkit.base.errors import InputError
from faultkit.base.numbers import shortest
from faultkit.base.units import parse_duration
from faultkit.load.load import Load
from faultkit.plan import Rule
from faultkit.scenario.scenario_model import Call, McpCall, SearchStrategy, VariedSetting, WrittenFault
from faultkit.scenario.written_faults import ALIASES, PROBABILITY, setting_named

SETTING_FORM = (
    'a setting such as "faults.latency.mean", "faults[0].mean_ms", "faults.http_error.probability", '
    '"load.rps" or "load.clients"'
)
LOAD_SETTINGS = {"rps": "requests a second", "clients": "clients"}
"""What of a load can be searched, and its unit."""
_OF_LOAD = re.compile(r"load\.(\w+)", re.ASCII)
_OF_FAULT = re.compile(r"faults(?:\.(\w+)|\[(\d+)\])\.(\w+)", re.ASCII)
_PER_SECOND = {"ms": 1_000.0, "µs": 1_000_000.0}
"""Units of time, which may be written as durations."""
_DIGITS = 9


class SettingPlace(NamedTuple):
    """Where a setting is, and what kind of number it has."""

    fault: int | None
    name: str
    unit: str
    is_whole: bool


def find_setting(path: str, faults: Sequence[WrittenFault]) -> SettingPlace:
    """Return the setting of a path. Raises InputError without a path if there is none, or it is no number."""
    if (of_load := _OF_LOAD.fullmatch(path)) is not None:
        name = of_load[1]
        if name not in LOAD_SETTINGS:
            raise InputError(
                "", f"unknown setting of the load {shown(name)}; {advice(name, tuple(LOAD_SETTINGS))}"
            )
        return SettingPlace(None, name, LOAD_SETTINGS[name], name == "clients")
    of_fault = _OF_FAULT.fullmatch(path)
    if of_fault is None:
        raise InputError("", f"expected {SETTING_FORM}, got {shown(path)}")
    type_, index, name = of_fault.groups()
    number_ = _index_of(type_, faults) if index is None else int(index)
    if number_ >= len(faults):
        raise InputError("", f"expected one of {_count(faults)}, got {shown(path)}")
    return setting_of_fault(number_, faults[number_], name)


def _index_of(type_: str, faults: Sequence[WrittenFault]) -> int:
    found = [index for index, fault in enumerate(faults) if type_ in (fault.written, fault.rule.fault.kind)]
    if not found:
        raise InputError("", f"expected a fault of type {shown(type_)} under faults, got {_count(faults)}")
    if len(found) > 1:
        places = " or ".join(f"faults[{index}]" for index in found)
        raise InputError(
            "", f"expected {places}, since {len(found)} faults are of this type, got {shown(type_)}"
        )
    return found[0]


def _count(faults: Sequence[WrittenFault]) -> str:
    if not faults:
        return "no faults"
    return ", ".join(f"faults[{index}] ({fault.written})" for index, fault in enumerate(faults))


def setting_of_fault(index: int, fault: WrittenFault, name: str) -> SettingPlace:
    """Return the setting of a fault, which has this index. Raises InputError without a path if it has none of
    this name, or it is no number."""
    cls = type(fault.rule.fault)
    meant = setting_named(cls.kind, name)
    if meant is None:
        known = [*_numbers(fault), *ALIASES.get(cls.kind, {}), PROBABILITY]
        raise InputError("", f"unknown setting of {fault.written} {shown(name)}; {advice(name, known)}")
    if meant == PROBABILITY:
        return SettingPlace(index, PROBABILITY, "", is_whole=False)
    if meant not in _numbers(fault):
        numbers = ", ".join([*_numbers(fault), PROBABILITY])
        raise InputError("", f"expected a setting that is a number ({numbers}), got {shown(name)}")
    return SettingPlace(index, meant, cls.settings()[meant].unit, cls.types()[meant] is int)


def _numbers(fault: WrittenFault) -> list[str]:
    return [name for name, type_ in type(fault.rule.fault).types().items() if type_ in (int, float)]


def read_value(value: object, unit: str) -> float:
    """Return a value of a setting with this unit: a number, or text with its unit such as "150ms" or "5%"."""
    if not isinstance(value, str):
        return number(_value_form(unit))(value)
    text = value.strip()
    per_second = _PER_SECOND.get(unit)
    try:
        if per_second is not None and text[-1:].isalpha():
            # The product may be off by the last bit.
            return round(parse_duration(text) * per_second, _DIGITS)
        if not unit and text.endswith("%"):
            return round(float(text[:-1]) / 100, _DIGITS)
        return number(_value_form(unit))(float(text.removesuffix(unit) if unit else text))
    except ValueError:
        raise InputError("", f"expected {_value_form(unit)}, got {shown(value)}") from None


def _value_form(unit: str) -> str:
    if unit in _PER_SECOND:
        return f'a number of {unit} or a duration with its unit such as "150ms"'
    return f"a number of {unit}" if unit else "a number"


def value_text(value: float, unit: str) -> str:
    """Return a value with its unit: `182 ms`, `0.05`."""
    return f"{shortest(value)} {unit}".rstrip()


def rules_at(rules: Sequence[Rule], varied: VariedSetting, value: float) -> tuple[Rule, ...]:
    """Return the rules with the setting at a value. Raises ValueError if the fault cannot have it."""
    if varied.fault is None:
        return tuple(rules)
    moved = list(rules)
    rule = moved[varied.fault]
    if varied.name == PROBABILITY:
        moved[varied.fault] = replace(rule, trigger=replace(rule.trigger, probability=value))
    else:
        given: float = int(value) if varied.scale.whole else value
        moved[varied.fault] = replace(rule, fault=replace(rule.fault, **{varied.name: given}))
    return tuple(moved)


def rules_of(rules: Sequence[Rule], strategy: SearchStrategy, values: Sequence[float]) -> tuple[Rule, ...]:
    """Return the rules with each searched setting at its value."""
    for varied, value in zip(strategy.settings, values, strict=True):
        rules = rules_at(rules, varied, value)
    return tuple(rules)


def values_text(strategy: SearchStrategy, values: Sequence[float]) -> str:
    """Return the value of each searched setting with its unit: `182 ms`, `182 ms and 0.05`."""
    pairs = zip(strategy.settings, values, strict=True)
    return " and ".join(value_text(value, varied.unit) for varied, value in pairs)


def rate_at(strategy: SearchStrategy, values: Sequence[float]) -> float:
    """Return the requests a second of all clients together, with each searched setting at its value."""
    clients, rps = (_searched_of_load(strategy, values, name) for name in ("clients", "rps"))
    return (strategy.clients if clients is None else clients) * (strategy.rps if rps is None else rps)


def _searched_of_load(strategy: SearchStrategy, values: Sequence[float], name: str) -> float | None:
    """Return the value of a setting of the load; None if it is not searched."""
    pairs = zip(strategy.settings, values, strict=True)
    return next((value for varied, value in pairs if varied.fault is None and varied.name == name), None)


def lowest_rate(strategy: SearchStrategy) -> float:
    """Return the lowest rate of the search, in whose requests a budget of time is counted: so the time is
    enough at every value."""
    ends = [(varied.scale.harmless, varied.scale.harmful) for varied in strategy.settings]
    return min(rate_at(strategy, values) for values in product(*ends))


def budget_of(strategy: SearchStrategy) -> int:
    """Return the budget in requests."""
    if strategy.budget_s is None:
        assert strategy.budget_requests is not None
        return strategy.budget_requests
    return int(strategy.budget_s * lowest_rate(strategy))


def load_at(strategy: SearchStrategy, call: Call, values: Sequence[float], requests: int) -> Load:
    """Return the load of so many requests, with each searched setting at its value. Each client of an MCP
    load has a session."""
    load, rate = strategy.load, rate_at(strategy, values)
    searched = _searched_of_load(strategy, values, "clients")
    if searched is None:
        clients = strategy.clients if isinstance(call, McpCall) else load.clients
    elif not isinstance(call, McpCall) and load.model == "open":
        clients = load.clients
    else:
        clients = int(searched)
    # Half an interval more than the last start, so that no rounding takes a request away or adds one.
    return replace(load, duration_s=(requests - 0.5) / rate, rate_rps=rate, clients=clients)
