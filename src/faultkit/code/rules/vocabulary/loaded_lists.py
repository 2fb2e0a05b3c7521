"""Lists that are loaded whole: their length is that of a table, a file or an answer, and nothing bounds it.

What is asked for by a list of ids, or up to a limit, is as long as that list or limit.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.collaborators import is_store_call
from faultkit.code.rules.vocabulary.data_sizes import base_name
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls

_BOUNDED = lazy_regex(
    r"\b\w*[iI]ds\b|\b[iI]n\(|\b[iI]nArray\(|\bwhereIn\(|\.in_\(|__in\b|\$in\b|Op\.in\b|\.Contains\(|\bANY\s*\(|\bIN\s*\("
    r"|\b(?:limit|take|top|page_?size|per_?page)\b|\.first\(|findOne|[pP]age\b",
    re.IGNORECASE,
)
"""Conditions that bound the rows: a list of ids, a limit, a page."""
_LOADS = NamePattern(
    r"^_?(iter|read|load|fetch|query|select|scan|find|list|get_?all|stream|download|parse|import|all)"
    r"(?=_|[A-Z]|$|all|lines)|^(Load|Fetch|Read|Query|Find|List|GetAll|GetRecords)"
)
_MAPPED = frozenset(
    (
        "map", "filter", "flatMap", "Select", "Where", "sort", "toSorted", "mapNotNull", "list", "sorted",
        "iter", "collect", "toList", "ToList", "stream",
    )
)  # fmt: skip
_LEVELS = 2
"""Levels of callers that are examined."""


def is_loaded_whole(over: str, place: Placed, facts: Facts, depth: int = 0) -> bool:
    """Return whether a list holds all that a query, a file or a request returned, as this text shows.

    A list that a function is given is looked for in the calls of the function."""
    name = base_name(over)
    if not name:
        return False
    made = [each for each in facts.assignments_to(name, place) if each.call is not None]
    if made:
        return any(
            each.call is not None and _loads(each.call, name, facts, depth) for each in made
        ) and not any(_BOUNDED.search(facts.text(each.span)) for each in made)
    scope = facts.named_function_of(place)
    return scope is not None and depth < _LEVELS and _is_given_whole(name, scope, facts, depth)


def is_over_loaded(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop goes through all rows, lines or items that were loaded or are read on."""
    if loop.is_async:
        return True
    known = {each.call for each in remote_calls(facts)}
    if any(each in known for each in facts.within(facts.calls, loop.head)):
        return _BOUNDED.search(loop.over) is None
    return is_loaded_whole(loop.over, loop, facts)


def _loads(call: Call, name: str, facts: Facts, depth: int) -> bool:
    known = {each.call for each in remote_calls(facts) if each.is_read}
    if call in known or {*chain_of(call)} & known or is_store_call(call, facts):
        return True
    if _LOADS.search(call.method) and (call.is_awaited or call.method != "parse"):
        return True
    root = re.split(r"\W", call.written, maxsplit=1)[0]
    if call.method in _MAPPED and root.isidentifier() and root != name and depth < _LEVELS:
        return is_loaded_whole(root, call, facts, depth + 1)
    return False


def _is_given_whole(name: str, scope: Scope, facts: Facts, depth: int) -> bool:
    names = [each.name for each in scope.parameters]
    if name not in names:
        return False
    at = names.index(name) - (1 if names[0] in ("self", "cls") else 0)
    for caller in facts.callers_of(scope):
        if len(caller.positional) <= at or at < 0:
            continue
        given = caller.positional[at].value
        if given.shape == "call" and not _BOUNDED.search(given.text):
            method = re.match(r"(?:await\s+)?(?:[\w]+\.)*(\w+)\(", given.text)
            if method is not None and _LOADS.search(method[1]):
                return True
        elif given.shape == "name" and is_loaded_whole(given.text, caller, facts, depth + 1):
            return True
    return False
