"""Functions of this text that are called for every item of a list: `rows.map(toView)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.remote_calls import chain_of

_APPLIES = frozenset(
    (
        "map", "flatMap", "forEach", "filter", "mapNotNull", "onEach", "associateWith", "associateBy",
        "anyMatch", "allMatch", "peek", "mapToInt", "mapToLong", "toMap", "Select", "SelectMany", "ForEach",
        "ConvertAll", "filter_map", "flat_map", "for_each",
    )
)  # fmt: skip
_LISTS = frozenset(("stream", "parallelStream", "iter", "into_iter", "iter_mut", "of"))
_ONE = re.compile(r"\.(findById|findOne\w*|getById|getOne|findFirst\w*|findUnique\w*|find\w*OrNull)\(\)$")
_NAMED = re.compile(r"(?:(?:this|self|Self|[A-Z]\w*)?(?:::|\.))?(\w+)")
"""A function that is given by its name: `toView`, `this::toView`, `View.of`."""
_PAGE = re.compile(r"[pP]age|Slice")
_DECLARED_PAGE = re.compile(r"\b(?:Page|Slice|Flux|Window)<[\w<>, ?]*>\s+(\w+)\s*\(")
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
    yield from given_functions(facts)
    by_name = _by_name(facts)
    for loop in facts.loops if by_name else ():
        for call in facts.within(facts.calls, loop.body):
            if not (scopes := by_name.get(call.method)) or facts.loops_around(call)[-1:] != (loop,):
                continue
            items = {name.rpartition(" ")[2] for name in loop.targets}
            place = next((at for at, each in enumerate(call.positional) if each.value.text in items), None)
            if place is None:
                continue
            for scope in scopes:
                parameters = _parameters(scope)
                if place < len(parameters) and call in facts.callers_of(scope):
                    yield Applied(scope, parameters[place], loop.over, call)


def given_functions(facts: Facts) -> Iterator[Applied]:
    """Yield the named functions that are given to a method of a list: `rows.map(toView)`."""
    by_name = _by_name(facts)
    for call in facts.calls_of_method(*_APPLIES) if by_name else ():
        for argument in call.positional[:1]:
            found = _NAMED.fullmatch(argument.value.text)
            if argument.value.shape in ("function", "call") or found is None or not _is_on_list(call, facts):
                continue
            name = found[1] if found[1] != "new" else argument.value.text.partition("::")[0]
            for scope in by_name.get(name, ()):
                yield Applied(scope, _parameters(scope)[0], _list(call, facts), call)


@lru_cache(maxsize=4)
def _by_name(facts: Facts) -> dict[str, list[Scope]]:
    """Return the functions of a text that have a parameter, by their names."""
    found: dict[str, list[Scope]] = {}
    for scope in facts.scopes:
        if scope.name and _parameters(scope):
            found.setdefault(scope.short_name, []).append(scope)
    return found


def _is_on_list(call: Call, facts: Facts) -> bool:
    """Return whether the object is a list or stream; an Optional or Option has `map`, too."""
    if facts.language in ("java", "rust"):
        chain = chain_of(call)
        if any(each.method in _LISTS for each in chain) or call.method in ("forEach", "for_each"):
            return True
        return facts.language == "java" and any(_is_page(each, facts) for each in chain)
    return bool(call.receiver_written) and _ONE.search(call.receiver) is None


def _is_page(call: Call, facts: Facts) -> bool:
    """Return whether a query returns a page, by its arguments or as it is declared in this text."""
    if any(_PAGE.search(each.value.text) for each in call.arguments):
        return call.method.startswith("find")
    return call.method in _paged_queries(facts)


@lru_cache(maxsize=4)
def _paged_queries(facts: Facts) -> frozenset[str]:
    """Return the methods that this text declares to return a page (Java)."""
    return frozenset(_DECLARED_PAGE.findall(facts.whole_text))


def _parameters(scope: Scope) -> list[str]:
    return [each.name for each in scope.parameters if each.name not in ("self", "cls")]


def _list(call: Call, facts: Facts) -> str:
    """Return the list of `rows.stream().map(f)`, without what makes a stream of it."""
    return _STREAM.sub("", facts.text(call.callee).rpartition(".")[0])
