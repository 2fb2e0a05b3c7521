"""Code that runs for every item of a list without a loop statement: closures, and methods of the items.

`rows.into_iter().map(|row| …)`, `stream::iter(rows).then(|row| …)` and `mapAll(rows, func(r Row) …)` are
loops over `rows`; `row.owner(db)` runs the body of a method for each row. Iterators that the grammar of a
language names are loops already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import RemoteCall, chain_of, remote_calls

_ON_ITEMS = frozenset(
    (
        "map", "for_each", "flat_map", "filter_map", "then", "and_then", "try_for_each", "map_ok", "fold",
        "try_fold", "filter", "inspect",
    )
)  # fmt: skip
"""Methods of iterators and streams of Rust that call a closure for each item."""
_ITERATES = frozenset(("iter", "into_iter", "iter_mut", "drain"))
_TOGETHER = lazy_regex(r"^(try_)?buffer(ed|_unordered)$|^(try_)?for_each_concurrent$")
_MAPS = NamePattern(
    r"(^|_|[a-z])(map|each|transform|convert|apply)(_|[A-Z]|$)|^(Map|Each|ForEach)", re.IGNORECASE
)
"""Names of helpers that call a function for each item of a list, of other texts."""
_NAME = lazy_regex(r"[A-Za-z_]\w*")


def loop_of_closure(place: Placed, facts: Facts) -> Loop | None:
    """Return the call that runs the function around a place for every item of a list, as a loop.

    Only functions that are given where they are written count, and only lists that have a name."""
    scope = facts.function_of(place)
    while scope is not None and scope.is_anonymous:
        around = facts.calls_around(scope) if scope.parameters else ()
        at = around[-1] if around else None
        if at is not None and any(each.value.span == scope.span for each in at.arguments):
            over = _list_of(at, scope, facts)
            if over:
                items = tuple(each.name for each in scope.parameters)
                return Loop("each", at.span, scope.body, at.line, over, items)
        scope = scope.outer
    return None


def _list_of(at: Call, scope: Scope, facts: Facts) -> str:
    """Return the list whose items a call gives to a function; empty if it is none."""
    if facts.language == "rust" and at.method in _ON_ITEMS:
        return _iterated(at, facts)
    if any(each.value.span == scope.span for each in at.arguments[:1]):
        return ""  # What comes first is what is worked on.
    first = at.positional[0].value if at.positional else None
    if first is None or first.shape != "name" or not first.text.isidentifier():
        return ""
    own = facts.functions_named(at.method) if not at.receiver_written else ()
    if own:
        return first.text if any(_calls_for_each(each, facts) for each in own) else ""
    return first.text if _MAPS.search(at.method) else ""


def _iterated(at: Call, facts: Facts) -> str:
    """Return `rows` of `rows.iter().map(…)` and of `stream::iter(rows).then(…)` (Rust)."""
    if any(_TOGETHER.match(each.method) for each in facts.calls_on(at)):
        return ""
    for each in chain_of(at):
        if each.method not in _ITERATES:
            continue
        if each.method == "iter" and each.arguments:
            return each.arguments[0].value.text
        return each.receiver_written if each.receiver_written.isidentifier() else ""
    return ""


def _calls_for_each(scope: Scope, facts: Facts) -> bool:
    """Return whether a function calls one of its parameters for each item of another."""
    names = {each.name for each in scope.parameters}
    return any(
        loop.over in names
        and any(
            call.written in names and {*loop.targets} & {each.value.text for each in call.arguments}
            for call in facts.within(facts.calls, loop.body)
        )
        for loop in facts.within(facts.loops, scope.body)
    )


def reads_by_methods(facts: Facts) -> Iterator[RemoteCall]:
    """Yield calls of methods on the items of a loop whose bodies read a database, and calls of functions
    that call a function which does."""
    found = remote_calls(facts)
    known = {each.call for each in found}
    for each in found:
        if not each.is_read or each.kind != "database":
            continue
        scope = facts.named_function_of(each.call)
        if scope is None or not scope.short_name:
            continue
        if each.through is not None:
            for call in facts.callers_of(scope):
                if call not in known and facts.named_function_of(call) is not scope:
                    yield RemoteCall(call, each.kind, True, each.call)
        elif _is_of_items(scope, facts):
            for call in facts.calls_of_method(scope.short_name):
                if call not in known and scope.is_async <= call.is_awaited and _is_on_item(call, facts):
                    yield RemoteCall(call, each.kind, True, each.call)


_PLAIN = frozenset(
    (
        "get", "find", "load", "fetch", "list", "all", "first", "one", "count", "exists", "query", "read",
        "search", "run", "execute", "call", "send", "next", "select", "filter", "map",
    )
)  # fmt: skip
"""Names that methods of many classes have."""
_STORES = NamePattern(
    r"(Repository|Repo|Service|Store|Dao|DAO|Client|Manager|Api|API|Gateway|Queries|Cache)$"
)


def _is_of_items(scope: Scope, facts: Facts) -> bool:
    """Return whether a function is a method that only the class of rows has."""
    # An extension of Kotlin has the class of the rows in its name, and may stand in another.
    is_extension = facts.language == "kotlin" and "." in scope.name and not scope.is_method
    if scope.short_name in _PLAIN or not (scope.is_method or is_extension):
        return False
    if not is_extension and _STORES.search(scope.owner):
        return False
    return len(facts.functions_named(scope.short_name)) == 1


def _is_on_item(call: Call, facts: Facts) -> bool:
    """Return whether the object of a call is the item of a loop: `row.owner(db)`, `rows[i].owner(db)`."""
    around = facts.loops_around(call) or (loop_of_closure(call, facts),)
    loop = around[-1]
    owner = call.receiver_written
    if loop is None:
        return False
    if owner.endswith("[]"):
        return owner[:-2] == loop.over.strip() or loop.kind == "count"
    return owner in {word for target in loop.targets for word in _NAME.findall(target)} - {
        "_",
        "self",
        "this",
    }
