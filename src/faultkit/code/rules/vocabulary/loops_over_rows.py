"""Loops over the rows that a query or a request of the same text returned."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.collaborators import is_store_call
from faultkit.code.rules.vocabulary.data_sizes import base_name
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls

_LISTS = lazy_regex(
    r"^_?(list|find|fetch|load|get|query|search|scan|select)(_?all|\w*s)$|^keys$", re.IGNORECASE
)


def is_loaded(loop: Loop, facts: Facts) -> bool:
    """Return whether the list comes from a query or a request itself: `rows = await db.list()`."""
    base = base_name(loop.over)
    if loop.kind == "count" and (counted := _COUNTED.search(loop.over)):
        base = counted[1] or counted[2]
    known = {remote.call for remote in remote_calls(facts)}
    if any(call in known for call in facts.within(facts.calls, loop.head)):
        return True
    if facts.language == "go" and base and _is_filled(base, loop, known, facts):
        return True
    return bool(base) and _is_of_rows(base, loop, known, facts)


_MAPPED = frozenset(("map", "filter", "flatMap", "Select", "Where", "slice", "toSorted", "mapNotNull"))


def _is_of_rows(name: str, loop: Loop, known: set[Call], facts: Facts, is_mapped: bool = False) -> bool:
    """Return whether a variable holds what a query or a request returned, or that item by item."""
    for each in facts.assignments_to(name, loop):
        call = each.call
        if call is None:
            continue
        if call in known or {*chain_of(call)} & known or is_store_call(call, facts):
            return True
        if call.is_awaited and _LISTS.search(call.method) is not None:
            return True
        root = call.written.partition(".")[0]
        is_part = call.method in _MAPPED and not is_mapped and root.isidentifier() and root != name
        if is_part and _is_of_rows(root, loop, known, facts, is_mapped=True):
            return True
    return False


_COUNTED = lazy_regex(r"<\s*(\w+)\.(?:length|size\(\)|Count|len\(\))|\blen\((\w+)\)")
"""The list whose places a loop counts."""
_NEXT_ROW = lazy_regex(r"^\w+\.Next\(\w*\)$")


def _is_filled(base: str, loop: Loop, known: set[Call], facts: Facts) -> bool:
    """Return whether a query fills a list, by its address or row by row (Go)."""
    scope = facts.function_of(loop)
    if scope is None:
        return False
    before = Span(scope.body.start, loop.span.start)
    if any(
        argument.value.text == f"&{base}"
        for call in facts.within(facts.calls, before)
        if call in known
        or call.method in ("Find", "Select", "SelectContext", "Scan", "StructScan")
        # `db.NewSelect().Model(&rows).Scan(ctx)`
        or (call.method == "Model" and any(call in chain_of(each) for each in known))
        for argument in call.arguments
    ):
        return True
    return any(
        each.targets == (base,)
        and each.value is not None
        and each.value.text.startswith("append(")
        and any(_NEXT_ROW.match(one.over.strip()) for one in facts.loops_around(each))
        for each in facts.within(facts.assignments, before)
    )
