"""Shrinks a plan that makes a test fail to a minimal one that still does, in virtual time. Pure.

Greedy and deterministic: faults are removed one by one, then triggers, schedules and settings are reset to
their defaults, and counts are lowered. The result is minimal: no single further step keeps the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace

from faultkit.agents.suite.definition import AgentTest, Suite
from faultkit.plan import Rule, Schedule, Trigger

StillFails = Callable[[Suite, AgentTest], bool]
"""Returns whether the test still fails in the same way."""
_MOST_TRIES = 2000


def shrink_test(suite: Suite, test: AgentTest, fails: StillFails) -> tuple[Suite, AgentTest]:
    """Return the smallest suite and test for which `fails` holds. It must hold for the given ones."""
    tried = 0

    def holds(smaller_suite: Suite, smaller_test: AgentTest) -> bool:
        nonlocal tried
        tried += 1
        return tried <= _MOST_TRIES and fails(smaller_suite, smaller_test)

    has_shrunk = True
    while has_shrunk:
        has_shrunk = False
        for smaller in _smaller_tests(suite, test):
            if holds(*smaller):
                suite, test = smaller
                has_shrunk = True
                break
    needed = tuple(fault for fault in suite.faults if fault.name in test.inject)
    return replace(suite, faults=needed), test


def _smaller_tests(suite: Suite, test: AgentTest) -> Iterator[tuple[Suite, AgentTest]]:
    if test.breakpoint is not None:
        return  # Its result is of these faults, and of no others.
    for name in test.inject:
        if len(test.inject) > 1:
            yield suite, replace(test, inject=tuple(each for each in test.inject if each != name))
    if test.runs > 1:
        yield suite, replace(test, runs=1)
    for index, fault in enumerate(suite.faults):
        if fault.name not in test.inject:
            continue
        for rule in _simpler_rules(fault.rule):
            faults = [*suite.faults]
            faults[index] = replace(fault, rule=rule)
            yield replace(suite, faults=tuple(faults)), test


def _simpler_rules(rule: Rule) -> Iterator[Rule]:
    if rule.trigger != Trigger():
        yield replace(rule, trigger=Trigger())
        yield from _simpler_triggers(rule)
    if rule.schedule != Schedule():
        yield replace(rule, schedule=Schedule())
    for field in fields(rule.fault):
        default = field.default if field.default is not MISSING else None
        value = getattr(rule.fault, field.name)
        if default is not None and value != default:
            yield replace(rule, fault=replace(rule.fault, **{field.name: default}))
        least = default if isinstance(default, int) else 0
        if isinstance(value, int) and not isinstance(value, bool) and value > least:
            # Halve first, so that a thousand becomes one in ten steps.
            for fewer in dict.fromkeys((least + (value - least) // 2, value - 1)):
                try:
                    yield replace(rule, fault=replace(rule.fault, **{field.name: fewer}))
                except (ValueError, TypeError):
                    continue


def _simpler_triggers(rule: Rule) -> Iterator[Rule]:
    defaults = Trigger()
    for field in fields(Trigger):
        value = getattr(rule.trigger, field.name)
        default = getattr(defaults, field.name)
        if value != default:
            yield replace(rule, trigger=replace(rule.trigger, **{field.name: default}))
    first = rule.trigger.first
    if first is not None and first > 1:
        for fewer in dict.fromkeys((first // 2, first - 1)):
            yield replace(rule, trigger=replace(rule.trigger, first=fewer))
