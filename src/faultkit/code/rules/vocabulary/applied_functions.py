"""Functions of this text that are called for every item of a list: `rows.map(toView)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.vocabulary.data_sizes import base_name
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls

_APPLIES = frozenset(
    (
        "map", "flatMap", "forEach", "filter", "mapNotNull", "onEach", "associateWith", "Select",
        "SelectMany",
        "ForEach", "anyMatch", "allMatch", "peek", "filter_map", "flat_map", "for_each", "mapToLong",
        "mapToInt", "toMap", "associateBy", "ConvertAll",
    )
)  # fmt: skip
_LISTS = frozenset(("stream", "parallelStream", "iter", "into_iter", "iter_mut", "of"))
_ONE = re.compile(r"\.(findById|findOne\w*|getById|getOne|findFirst\w*|findUnique\w*|find\w*OrNull)\(\)$")
_STREAM = re.compile(r"\s*\.(stream|parallelStream|asSequence|iter|into_iter|AsEnumerable)\(\)\s*$")


@dataclass(frozen=True, slots=True)
class Applied:
    """A function that gets each item of a list."""

    scope: Scope
    item: str
    """The parameter that holds the item."""
    over: str
    """The list, as written."""
    at: Call
    """The call that is given the function, or that calls it in a loop."""


def applied_functions(facts: Facts) -> Iterator[Applied]:
    """Yield the named functions that are called for every item of a list."""
    by_name: dict[str, list[Scope]] = {}
    for scope in facts.scopes:
        if scope.name and _item(scope):
            by_name.setdefault(scope.short_name, []).append(scope)
    for call in facts.calls_of_method(*_APPLIES) if by_name else ():
        for argument in call.positional[:1]:
            found = re.fullmatch(r"(?:this|self|Self|[A-Z]\w*)?(?:::|\.)?(\w+)", argument.value.text)
            if argument.value.shape in ("function", "call") or found is None or not _is_on_list(call, facts):
                continue
            for scope in by_name.get(found[1], ()):
                yield Applied(scope, _item(scope), _list(call, facts), call)
    for loop in facts.loops:
        for call in facts.within(facts.calls, loop.body):
            if not (scopes := by_name.get(call.method)) or facts.loops_around(call)[-1:] != (loop,):
                continue
            items = {name.rpartition(" ")[2] for name in loop.targets}
            for scope in scopes:
                place = next(
                    (at for at, each in enumerate(call.positional) if each.value.text in items), None
                )
                parameters = _parameters(scope)
                if place is not None and place < len(parameters) and call in facts.callers_of(scope):
                    yield Applied(scope, parameters[place], loop.over, call)


def _is_on_list(call: Call, facts: Facts) -> bool:
    """Return whether the object is a list or stream; an Optional or Option has `map`, too."""
    if facts.language in ("java", "rust"):
        return any(each.method in _LISTS for each in chain_of(call)) or call.method in ("forEach", "for_each")
    return bool(call.receiver_written) and _ONE.search(call.receiver) is None


def _parameters(scope: Scope) -> list[str]:
    return [each.name for each in scope.parameters if each.name not in ("self", "cls")]


def _item(scope: Scope) -> str:
    return next(iter(_parameters(scope)), "")


def _list(call: Call, facts: Facts) -> str:
    """Return the list of `rows.stream().map(f)`, without what makes a stream of it."""
    return _STREAM.sub("", facts.text(call.callee).rpartition(".")[0])


def given_to_all(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield reads of a database by a function that is given to `map` over what a query returned."""
    asked = [each for each in remote_calls(facts) if each.through is None]
    known = {each.call for each in asked}
    for applied in applied_functions(facts) if asked else ():
        if applied.at.method not in _APPLIES or not _is_loaded(applied, known, facts):
            continue
        for remote in asked:
            if (
                remote.kind != "database"
                or not remote.is_read
                or not is_within(remote.call.span, applied.scope.body)
            ):
                continue
            if re.search(rf"(?<![\w.]){re.escape(applied.item)}\b", facts.text(remote.call.span)):
                yield remote.call, applied.over.strip()[:40]


def _is_loaded(applied: Applied, known: set[Call], facts: Facts) -> bool:
    """Return whether the list comes from a query, or may be long by its name."""
    if {*chain_of(applied.at)} & known:
        return True
    name = base_name(applied.over)
    made = (
        [each.call for each in facts.assignments_to(name, applied.at) if each.call is not None]
        if name
        else []
    )
    return any(call in known or {*chain_of(call)} & known for call in made)
