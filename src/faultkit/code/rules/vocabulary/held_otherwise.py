"""Work that runs alone without a lock in sight: in the functions of a map, in a chain of promises, or as a
function that is given to one that holds a lock. Knows no clients: callers say which calls wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.lock_regions import lock_regions
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_COMPUTES = ("compute", "computeIfAbsent", "computeIfPresent", "merge")
_MAPS = lazy_regex(r"(^|\.)Concurrent(Hash)?Map$")
_REFERENCE = lazy_regex(r"(?:this)?::(\w+)$")
_THEN = lazy_regex(r"\.then\(\s*(?:async\s*)?(?:\(\s*\)\s*=>\s*)?(\w+)")


def in_maps(waits: set[Call], facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield calls that wait in a function of `ConcurrentHashMap.compute`, which holds a part of the map."""
    if facts.language not in ("java", "kotlin"):
        return
    for each in facts.calls_of_method(*_COMPUTES):
        if not _MAPS.search(type_of_receiver(each, facts) or each.receiver):
            continue
        for argument in each.positional[1:] if each.method != "merge" else each.positional[2:]:
            scope = facts.function_at(argument.value.span)
            found = None if scope is None else _first(waits, scope, facts)
            if found is None and (named := _REFERENCE.match(argument.value.text)) is not None:
                own = facts.functions_named(named[1])
                found = each if any(_first(waits, one, facts) is not None for one in own) else None
            if found is not None:
                yield found, each.receiver_written
                break


def _first(waits: set[Call], scope: Scope, facts: Facts) -> Call | None:
    return next((call for call in facts.within(facts.calls, scope.span) if call in waits), None)


@lru_cache(maxsize=4)
def serial_runners(facts: Facts) -> dict[str, bool]:
    """Return functions that run what they are given one after the other, in a chain of promises, by name,
    and whether there is one chain for each key.

    `run(work) { const next = this.tail.then(work); this.tail = next.catch(() => {}); return next }`"""
    if facts.syntax.language.family != "javascript" or b".then(" not in facts.syntax.source:
        return {}
    found = dict[str, bool]()
    for scope in facts.scopes:
        if not scope.name or not scope.parameters or scope.short_name in found:
            continue
        text = facts.text(scope.body)
        given = {each.name for each in scope.parameters}
        if not any(one in given for one in _THEN.findall(text)):
            continue
        chained = re.search(r"((?:this\.)?#?\w+)\.then\(", text)
        if chained is not None and re.search(rf"(?<![\w.]){re.escape(chained[1])}\s*=[^=]", text):
            if chained[1].startswith("this.") or chained[1] in facts.file_names:
                found[scope.short_name] = False
        elif re.search(r"\.get\(\w+\)[^;]*\.then\(", text, re.DOTALL) and ".set(" in text:
            found[scope.short_name] = True
    return found


def in_serial_work(waits: set[Call], facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield calls that wait in work that one chain of promises runs for all who ask."""
    for name, is_by_key in serial_runners(facts).items():
        for run in facts.calls_of_method(name) if not is_by_key else ():
            scope = facts.named_function_of(run)
            if scope is None or not scope.parameters or "this." in run.receiver_written:
                continue
            for argument in run.positional:
                work = facts.function_at(argument.value.span)
                found = None if work is None else _first(waits, work, facts)
                if found is not None and found.is_awaited:
                    yield found, run.receiver_written or run.written
                    break


def is_in_serial_work(call: Call, facts: Facts) -> bool:
    """Return whether a call runs alone for its key, or alone altogether."""
    runners = serial_runners(facts)
    return bool(runners) and any(each.method in runners for each in facts.calls_around(call))


def given_work(waits: set[Call], facts: Facts) -> Iterator[Call]:
    """Yield calls of a parameter in a lock, if a caller of this text gives a function that waits:
    `mutex.withLock { refresh(); work(token) }`."""
    for region in lock_regions(facts):
        scope = facts.named_function_of(region)
        if scope is None or not scope.parameters:
            continue
        names = {each.name: at for at, each in enumerate(scope.parameters)}
        for call in facts.within(facts.calls, region.span):
            if call.written in names and _is_given_wait(scope, waits, facts):
                yield call


def _is_given_wait(scope: Scope, waits: set[Call], facts: Facts) -> bool:
    for caller in facts.callers_of(scope):
        for argument in caller.arguments:
            work = facts.function_at(argument.value.span)
            if work is not None and _first(waits, work, facts) is not None:
                return True
    return False
