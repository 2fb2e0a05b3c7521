"""The strategy of an item: one call, repeated calls with a fault that grows, a load, or a search. Pure.

Parses `strategy` of a scenario file, and computes the rules for each call of a repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, sentence
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    DURATION,
    DURATION_SCHEMA,
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    choice,
    duration_s,
    number,
    pause_s,
    span_schema,
    switch,
    text,
    whole_number,
)
from faultkit.base.errors import InputError
from faultkit.faults.fault import Fault
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.load import Load
from faultkit.plan import Rule
from faultkit.scenario.load_keys import CLIENTS, MODEL, PACE, RPS, parse_load
from faultkit.scenario.scenario_model import (
    Call,
    LoadStrategy,
    McpCall,
    RepeatStrategy,
    ScenarioItem,
    SearchStrategy,
    SingleStrategy,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.search_strategy import SEARCH, parse_search
from faultkit.scenario.written_faults import PROBABILITY, setting_named

STOPS = ("at_end", "when_decided")
MOST_CALLS = 10_000
"""The most calls of `repeat`, because the faults of all calls are checked beforehand."""

_STEP = "a number to add at each call"
_COUNT = f"a whole number from 1 to {MOST_CALLS}"
_STEPPABLE = (
    "latency with a mean, jitter, bandwidth or packet loss with a rate to add it to, "
    "or step_of with the name of another setting"
)


STRATEGIES: dict[str, KeyTable] = {
    "single": KeyTable(Key("mode", schema={"const": "single"}, required="a mode")),
    "repeat": KeyTable(
        Key("mode", schema={"const": "repeat"}, required="a mode"),
        Key(
            "step",
            number(_STEP),
            {"type": "number"},
            0.0,
            "The amount added to the fault with each call; may be negative.",
            _STEP,
        ),
        Key(
            "count",
            whole_number(1, MOST_CALLS),
            {"type": "integer", "minimum": 1, "maximum": MOST_CALLS},
            1,
            f"Calls with the fault, at most {MOST_CALLS}.",
            _COUNT,
        ),
        Key(
            "wait",
            pause_s,
            span_schema({"minimum": 0}),
            0.0,
            'The time between two calls: milliseconds, or text such as "500ms".',
        ),
        Key("failfast", switch, SWITCH_SCHEMA, False, "Stop at the first call that misses the expectation."),
        Key("add_baseline_call", switch, SWITCH_SCHEMA, False, "Begin with a call without faults."),
        Key(
            "step_of",
            text,
            TEXT_SCHEMA,
            help="The setting that is stepped, such as mean_ms or probability, in every fault that has it. "
            "By default the mean of latency, the amplitude of jitter, the rate of bandwidth and packet loss.",
        ),
    ),
    "load": KeyTable(
        Key("mode", schema={"const": "load"}, required="a mode"),
        Key("duration", duration_s, DURATION_SCHEMA, 1.0, sentence(DURATION), DURATION),
        CLIENTS,
        RPS,
        MODEL,
        Key("ramp", duration_s, DURATION_SCHEMA, 0.0, "The time in which the rate rises evenly from 0."),
        Key(
            "stop",
            choice(STOPS),
            {"enum": list(STOPS)},
            "at_end",
            "when_decided: the load ends as soon as all objectives are kept or missed beyond doubt.",
        ),
        *PACE,
        rules={
            "if": {"properties": {"model": {"const": "closed"}}, "required": ["model"]},
            "else": {"properties": {"rps": {"type": "number"}}, "required": ["rps"]},
        },
    ),
    "search": SEARCH,
}
"""The keys of each mode."""


def parse_strategy(
    value: object, path: str, problems: list[InputError], faults: Sequence[WrittenFault] | None
) -> Strategy:
    """Return the strategy. If `faults` is None (some are invalid), checks that need them are skipped."""
    mode = _parse_mode(value, path, problems)
    if mode is None:
        return SingleStrategy()
    reading = MappingReader(value, STRATEGIES[mode], path, problems)
    return _PARSERS[mode](reading, faults)


def _parse_mode(value: object, path: str, problems: list[InputError]) -> str | None:
    if not isinstance(value, Mapping):
        problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
        return None
    given = value.get("mode")
    if isinstance(given, str) and given in STRATEGIES:
        return given
    hint = advice(given, tuple(STRATEGIES)) if isinstance(given, str) else ""
    problem = f"expected one of {', '.join(STRATEGIES)}, got {shown(given)}"
    problems.append(InputError(join_path(path, "mode"), f"{problem}; {hint}" if "?" in hint else problem))
    return None


def _parse_repeat(reading: MappingReader, faults: Sequence[WrittenFault] | None) -> Strategy:
    before = len(reading.problems)
    step, count = reading.take("step"), reading.take("count")
    stepped: Stepped = ()
    step_of = reading.take("step_of")
    if faults is not None and len(reading.problems) == before:
        stepped = _parse_steps(reading, faults, step, count, step_of)
    return RepeatStrategy(
        step,
        count,
        stepped,
        wait_s=reading.take("wait"),
        failfast=reading.take("failfast"),
        add_baseline_call=reading.take("add_baseline_call"),
    )


def _parse_steps(
    reading: MappingReader, faults: Sequence[WrittenFault], step: float, count: int, step_of: str | None
) -> Stepped:
    stepped = default_steps(faults) if step_of is None else chosen_steps(faults, step_of)
    if not stepped and step_of is not None:
        reading.note(
            "step_of", InputError("", f"expected a number that one of the faults has, got {shown(step_of)}")
        )
    elif not stepped and step != 0:
        reading.note("step", InputError("", f"expected {_STEPPABLE}, got {step:g} and none of these"))
    rules = [fault.rule for fault in faults]
    for number_ in range(count) if step and stepped else ():
        try:
            step_rules(rules, stepped, step * number_)
        except ValueError as error:
            where = f"at call {number_ + 1} of {count}"
            reading.note("step", InputError("", f"expected a step that suits every call; {where}, {error}"))
            break
    return stepped


def _parse_load(reading: MappingReader, faults: Sequence[WrittenFault] | None) -> Strategy:
    values = {"duration_s": reading.take("duration"), "ramp_s": reading.take("ramp")}
    ends_early = reading.take("stop") == "when_decided"
    return LoadStrategy(*parse_load(reading, **values), ends_early=ends_early)


_PARSERS: dict[str, Callable[[MappingReader, Sequence[WrittenFault] | None], Strategy]] = {
    "single": lambda reading, faults: SingleStrategy(),
    "repeat": _parse_repeat,
    "load": _parse_load,
    "search": parse_search,
}


Stepped: TypeAlias = tuple[tuple[int, str], ...]
"""Settings that grow: pairs of the index of a fault and the name of its setting."""

_DIGITS = 9
"""Sums are rounded, because sums of floats are off by the last bit: 0.1 and 2 steps of 0.1 must be 0.3."""


def default_steps(faults: Sequence[WrittenFault]) -> Stepped:
    """Return the settings that grow by default: the one of each fault that makes it stronger or weaker."""
    found = ((index, _default_setting(fault.rule.fault)) for index, fault in enumerate(faults))
    return tuple((index, name) for index, name in found if name)


def _default_setting(fault: Fault) -> str | None:
    match fault:
        case Latency(distribution="normal" | "pareto-normal"):
            return "mean_ms"
        case Jitter():
            return "amplitude_ms"
        case Bandwidth() | PacketLoss(model="random"):
            return "rate"
    return None


def chosen_steps(faults: Sequence[WrittenFault], name: str) -> Stepped:
    """Return the setting of this name of each fault that has it as a number; older names are accepted."""
    found = []
    for index, fault in enumerate(faults):
        target = setting_named(fault.rule.fault.kind, name)
        if target is None:
            continue
        value = None if target == PROBABILITY else getattr(fault.rule.fault, target)
        # True and False are ints in Python.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if target == PROBABILITY or is_number:
            found.append((index, target))
    by_chance = [pair for pair in found if faults[pair[0]].rule.trigger.probability != 1]
    # A probability of 1 is stepped only if every fault has it.
    if by_chance and all(target == PROBABILITY for _, target in found):
        return tuple(by_chance)
    return tuple(found)


def load_of(strategy: LoadStrategy | SearchStrategy, call: Call) -> Load:
    """Return the load for a call. Each client of an MCP load has a session, also in an open load."""
    return replace(strategy.load, clients=strategy.clients) if isinstance(call, McpCall) else strategy.load


def stepped_rules(item: ScenarioItem, call_number: int) -> tuple[Rule, ...]:
    """Return the rules for one call of an item. Calls count from 0, without the baseline call."""
    rules = tuple(fault.rule for fault in item.faults)
    if not isinstance(item.strategy, RepeatStrategy):
        return rules
    return step_rules(rules, item.strategy.stepped, item.strategy.step * call_number)


def step_rules(rules: Iterable[Rule], stepped: Stepped, by: float) -> tuple[Rule, ...]:
    """Return the rules with the stepped settings raised by `by`. Raises ValueError for an invalid value."""
    moved = list(rules)
    for index, name in stepped:
        moved[index] = _step_rule(moved[index], name, by)
    return tuple(moved)


def stepped_value(rule: Rule, name: str) -> float:
    """Return the value of a stepped setting, or of the probability."""
    value: float = rule.trigger.probability if name == PROBABILITY else getattr(rule.fault, name)
    return value


def _step_rule(rule: Rule, name: str, by: float) -> Rule:
    value = stepped_value(rule, name)
    moved = round(value + by, _DIGITS)
    if name == PROBABILITY:
        return replace(rule, trigger=replace(rule.trigger, probability=moved))
    if not isinstance(value, int):
        return replace(rule, fault=replace(rule.fault, **{name: moved}))
    if moved != round(moved, 0):
        raise ValueError(f"{name}: expected a whole number, got {moved:g}")
    return replace(rule, fault=replace(rule.fault, **{name: int(moved)}))
