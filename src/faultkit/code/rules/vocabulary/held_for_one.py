"""Locks that are held while one caller loads for all: then only those wait that need the load as well.

A lock of all keys is no such: who needs another key waits for nothing of its own. Knows no clients.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.lock_regions import lock_regions, regions_around
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_EARLY = lazy_regex(r"\breturn\b")
_MEMBER = lazy_regex(r"(?:\b(?:self|this)\.|\b_)?\b[A-Za-z_]\w*")
_BESIDE = frozenset(("self", "this", "cls", "ctx", "ct", "cancellationToken", "token", "signal", "w"))


def is_asked_before(lock: str, call: Call, facts: Facts) -> bool:
    """Return whether the function leaves with the value before it takes the lock, and asks again inside."""
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    taken = next(
        (
            each.taken.start if each.taken is not None else each.span.start
            for each in lock_regions(facts)
            if is_within(call.span, each.span) and is_within(each.span, scope.span)
        ),
        None,
    )
    if taken is None or taken <= scope.body.start:
        return False
    before, inside = facts.text(Span(scope.body.start, taken)), facts.text(Span(taken, call.span.start))
    last = lock.rpartition(".")[2]
    if not _EARLY.search(before) or re.search(rf"\b{re.escape(last)}\b\s*\.\s*\w", before):
        return False
    common = {*_MEMBER.findall(before)} & {*_MEMBER.findall(inside)}
    names = {name.removeprefix("self.").removeprefix("this.") for name in common}
    asked = names & _members(facts) - {last}
    return bool(asked) and not (_is_by_key(asked, inside, scope) and _is_of_all(lock, scope, facts))


def _members(facts: Facts) -> set[str]:
    members = {name.rpartition(".")[2] for name in facts.assigned_names if name.startswith("self.")}
    return members | {each.short_name for each in facts.scopes if each.name} | {*facts.file_names}


def _is_by_key(asked: set[str], text: str, scope: Scope) -> bool:
    """Return whether what is asked for belongs to a key that the function is given: `cache.get(tenant)`."""
    keys = {each.name for each in scope.parameters} - _BESIDE
    return any(
        not asked.isdisjoint(found.group(1, 2)) and found[3] in keys
        for found in re.finditer(r"\b(\w+)(?:\.(\w+))?(?:<[^()<>]*>)?\s*[\[(]\s*(\w+)\s*[\]),]", text)
    )


def _is_of_all(lock: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a lock is a member or belongs to the file: one of a key is made or found here."""
    if "[" in lock or "(" in lock:
        return False
    root = lock.partition(".")[0]
    return root in ("self", "this") or not any(
        root in each.targets and each.scope is not None and is_within(each.span, scope.span)
        for each in facts.assignments
    )


_OF_SELF = lazy_regex(r"\b(?:self|this)\.#?(\w+)\b(?!\s*[\[(]|\.(?:get|has)\b)")
_WORD = lazy_regex(r"\w+")


def loads_for_all(call: Call, facts: Facts) -> bool:
    """Return whether a task waits for what all that take the lock need, and only if it is missing or old.

    `async with self._lock: if self._token is None: self._token = await self._fetch()`: the condition reads a
    member that is not looked up by a key, and what is called or the code behind it assigns that."""
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    tests = [
        step.text
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "branch" and step.span.start < call.span.start
    ]
    members = {name[5:] for name in (*facts.assigned_names, *facts.file_names) if name.startswith("self.")}
    word = _OF_SELF if facts.language in ("python", *JAVASCRIPT) else _WORD
    tested = {name for text in tests for name in word.findall(text)} & members
    if not tested:
        return False
    holders = [
        scope,
        *(each for each in facts.functions_named(call.method) if call in facts.callers_of(each)),
    ]
    return any(
        target.removeprefix("self.") in tested
        for holder in holders
        for each in facts.within(facts.assignments, holder.body)
        if holder is not scope or each.span.end >= call.span.end
        for target in each.targets
    )


_READS = NamePattern(
    r"^_?(Get|List|Find|Load|All|Count|Exists|Query|Select|Any|First|Single)([A-Z_]\w*)?$", re.I
)
_WRITES = NamePattern(
    r"^_?(Upsert|Update|Insert|Create|Save|Delete|Add|Put|Replace|Remove|Store|Set)([A-Z_]\w*)?$", re.I
)
_START = NamePattern(r"^_?(startup|start_?up_?check|on_?start_?up|init|initiali[sz]e|setup)$", re.I)


_OF_ONE_USER = NamePattern(
    r"(Iter(ator)?|Cursor|Scanner|Reader|Writer|Stream|Transaction|Tx|ViewModel|Presenter|Activity|Fragment)$",
    re.I,
)
_STEPS_ON = NamePattern(
    r"^_?(next|head|peek|advance|has_?next|move_?next(_?async)?|__next__|__anext__)$", re.I
)
_ENDS = NamePattern(
    r"^_?(close|stop|shutdown|dispose|disconnect|terminate|connect|reconnect|open|start|ensure\w*|lazy\w*)(_?async)?$",
    re.I,
)


def is_lock_of_one(call: Call, lock: str, facts: Facts) -> bool:
    """Return whether few wait for a lock: it is found by a key, guards an object that one caller has, as an
    iterator or the model of a screen, or is held to start and end something."""
    if any(taken.written == lock and taken.arguments for taken in facts.managed_around(call)):
        return True  # `with self.lock_of(key):`
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    return (
        _OF_ONE_USER.search(scope.owner) is not None
        or _STEPS_ON.match(scope.short_name) is not None
        or _ENDS.match(scope.short_name) is not None
    )


def is_short_for_others(call: Call, waits: set[Call], facts: Facts) -> bool:
    """Return whether other functions hold the lock around a call as well, and wait for nothing meanwhile, or
    the lock is static."""
    regions = lock_regions(facts)
    scope, locks = facts.named_function_of(call), {each.lock for each in regions_around(call, regions)}
    static = (TextPattern(rf"\bstatic\b[^;=()]*\b{re.escape(lock)}\b") for lock in locks)
    if any(each.is_in(facts.whole_text) for each in static):
        return True
    return any(
        each.lock in locks
        and facts.named_function_of(each) is not scope
        and not any(is_within(one.span, each.span) for one in waits)
        for each in regions
    )


_SHORT = lazy_regex(
    r"0?\.0\d*|[1-9]?\d(?:L|\s*\*\s*time\.Millisecond)?|time\.Millisecond|\d+\s*\*\s*time\.(Micro|Nano)second"
)


def is_short_sleep(call: Call, facts: Facts) -> bool:
    """Return whether a call sleeps for less than a tenth of a second, by a number that is written there."""
    text = call.positional[0].value.text if call.method in ("sleep", "Sleep") and call.positional else ""
    if facts.language == "python" and "." not in text:
        return False
    return _SHORT.fullmatch(text) is not None


def without_meant(
    held: list[tuple[Call, str, bool]], http: set[Call], facts: Facts
) -> list[tuple[Call, str, bool]]:
    """Return calls with the locks around them, without those for which the lock is meant.

    To load for all from another service is none: that may be slow while the old value is still good."""
    return [
        each
        for each in held
        if not _is_at_start(each[0], facts)
        and not _is_one_change(each[0], each[1], held, facts)
        and not (each[0] not in http and {*each[0].assigned} - {"err", "_"} and loads_for_all(each[0], facts))
    ]


def _is_at_start(call: Call, facts: Facts) -> bool:
    """Return whether a function runs when the program starts, before others need the lock."""
    scope = facts.named_function_of(call)
    return scope is not None and _START.match(scope.short_name) is not None


def _is_one_change(call: Call, lock: str, held: list[tuple[Call, str, bool]], facts: Facts) -> bool:
    """Return whether the lock keeps a read and a write of a store together, so that no change is lost."""
    scope = facts.named_function_of(call)
    names = [
        each.method for each, other, _ in held if other == lock and facts.named_function_of(each) is scope
    ]
    is_part = _READS.match(call.method) or _WRITES.match(call.method)
    return bool(is_part and any(map(_READS.match, names)) and any(map(_WRITES.match, names)))
