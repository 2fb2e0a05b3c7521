"""What the strategy `repeat` does to faults: a step is added to a setting, call after call. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from faultkit.faults.fault import Fault
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.plan import Rule
from faultkit.scenario.faults import PROBABILITY, target_of
from faultkit.scenario.model import Item, Repeat, WrittenFault

Stepped = tuple[tuple[int, str], ...]

_DIGITS = 9
"""Sums of floats miss by the last bit: 0.1 and 2 steps of 0.1 are to be 0.3."""


def usual_steps(faults: Sequence[WrittenFault]) -> Stepped:
    """What grows if nobody says what: the setting that makes a fault worse or better, where there is one."""
    found = ((index, _usual(fault.rule.fault)) for index, fault in enumerate(faults))
    return tuple((index, name) for index, name in found if name)


def _usual(fault: Fault) -> str | None:
    match fault:
        case Latency(distribution="normal" | "pareto-normal"):
            return "mean_ms"
        case Jitter():
            return "amplitude_ms"
        case Bandwidth() | PacketLoss(model="random"):
            return "rate"
    return None


def chosen_steps(faults: Sequence[WrittenFault], name: str) -> Stepped:
    """Every fault that has a number of this name, in the file's words or the vocabulary's."""
    found = []
    for index, fault in enumerate(faults):
        target = target_of(fault.rule.fault.kind, name)
        if target is not None and (target == PROBABILITY or _is_number(getattr(fault.rule.fault, target))):
            found.append((index, target))
    chancy = [pair for pair in found if faults[pair[0]].rule.trigger.probability != 1]
    # A fault that always strikes has no chance to change, unless all of them are so.
    if chancy and all(target == PROBABILITY for _, target in found):
        return tuple(chancy)
    return tuple(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def stepped_rules(item: Item, call_number: int) -> tuple[Rule, ...]:
    """The rules for one call of an item. Calls count from 0, and a baseline call is not one of them."""
    rules = tuple(fault.rule for fault in item.faults)
    if not isinstance(item.strategy, Repeat):
        return rules
    return step_rules(rules, item.strategy.stepped, item.strategy.step * call_number)


def step_rules(rules: Iterable[Rule], stepped: Stepped, by: float) -> tuple[Rule, ...]:
    """Raises ValueError if a setting does not take its value."""
    moved = list(rules)
    for index, name in stepped:
        moved[index] = _moved(moved[index], name, by)
    return tuple(moved)


def stepped_value(rule: Rule, name: str) -> float:
    value: float = rule.trigger.probability if name == PROBABILITY else getattr(rule.fault, name)
    return value


def _moved(rule: Rule, name: str, by: float) -> Rule:
    value = stepped_value(rule, name)
    moved = round(value + by, _DIGITS)
    if name == PROBABILITY:
        return replace(rule, trigger=replace(rule.trigger, probability=moved))
    if not isinstance(value, int):
        return replace(rule, fault=replace(rule.fault, **{name: moved}))
    if moved != round(moved, 0):
        raise ValueError(f"{name}: expected a whole number, got {moved:g}")
    return replace(rule, fault=replace(rule.fault, **{name: int(moved)}))
