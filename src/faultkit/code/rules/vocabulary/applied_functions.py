"""Functions of this text that are called for every item of a list: `rows.map(toView)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.remote_calls import chain_of

_APPLIES = frozenset(
    (
        "map", "flatMap", "forEach", "filter", "mapNotNull", "onEach", "associateWith", "associateBy",
        "anyMatch", "allMatch", "peek", "mapToInt", "mapToLong", "toMap", "Select", "SelectMany", "ForEach",
        "ConvertAll", "filter_map", "flat_map", "for_each",
    )
)  # fmt: skip
_LISTS = frozenset(("stream", "parallelStream", "iter", "into_iter", "iter_mut", "of", "getResultStream"))
_ONE = lazy_regex(r"\.(findById|findOne\w*|getById|getOne|findFirst\w*|findUnique\w*|find\w*OrNull)\(\)$")
_NAMED = lazy_regex(r"(?:(?:this|self|Self|[A-Z]\w*)?(?:::|\.))?(\w+)")
"""A function that is given by its name: `toView`, `this::toView`, `View.of`."""
_PAGE = lazy_regex(r"[pP]age|Slice")
_DECLARED_PAGE = lazy_regex(r"\b(?:Page|Slice|Flux|Window)<[\w<>, ?]*>\s+(\w+)\s*\(")
_STREAM = lazy_regex(r"\s*\.(stream|parallelStream|asSequence|iter|into_iter|AsEnumerable)\(\)\s*$")


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
    # A function that a field holds: `private static final Function<Order, View> TO_VIEW = order -> …` (Java).
    for each in facts.assignments if facts.language == "java" else ():
        value = each.value
        held = facts.function_at(value.span) if value is not None and value.shape == "function" else None
        if held is not None and _parameters(held):
            found.setdefault(each.targets[0].rpartition(".")[2], []).append(held)
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


def wrapped_items(facts: Facts) -> Iterator[tuple[Call, str, str, Scope]]:
    """Yield methods of objects that are made for each item of a list: `LoanView(loan).to_dict()`.

    With each come the call that makes the object, the list, and the field that holds the item."""
    for loop in facts.loops if facts.classes else ():
        items = {name.rpartition(" ")[2] for name in loop.targets}
        for call in facts.within(facts.calls, loop.body):
            if not call.constructs or call.method not in facts.classes:
                continue
            place = next((at for at, each in enumerate(call.positional) if each.value.text in items), None)
            if place is None:
                continue
            for field in _fields_for(call.method, place, facts):
                for scope in facts.scopes:
                    if scope.owner == call.method and scope.is_method and scope.short_name not in _MAKERS:
                        yield call, loop.over, field, scope


_MAKERS = ("__init__", "constructor")


def _fields_for(owner: str, place: int, facts: Facts) -> Iterator[str]:
    """Yield the fields that hold what a constructor is given at a place."""
    for scope in facts.functions_named(*_MAKERS, owner):
        names = _parameters(scope)
        if scope.owner != owner or place >= len(names):
            continue
        for each in facts.own(facts.assignments, scope):
            target = each.targets[0]
            if each.value is not None and each.value.text == names[place] and target.startswith("self."):
                yield target[5:]


def given_to_callers(name: str, place: Placed, facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield the variables that callers in this text give to a function for one of its parameters."""
    scope = facts.named_function_of(place)
    names = [] if scope is None else _parameters(scope)
    for call in facts.callers_of(scope) if scope is not None and name in names else ():
        at = names.index(name)
        if at < len(call.positional) and (given := call.positional[at].value.text).isidentifier():
            yield call, given


_COLLECTION = lazy_regex(r"(^|\.)(Collection|List|Set|Iterable|Map)$")


def given_lists(item: str, body: Span, facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield getters of an item whose list is given to a function of this text: `names(order.getLines())`
    (Java)."""
    getter = re.compile(rf"{re.escape(item)}\.get([A-Z]\w*)")
    for call in facts.within(facts.calls, body):
        for at, argument in enumerate(call.positional):
            found = getter.fullmatch(argument.value.text.removesuffix("()"))
            if found is None or argument.value.shape != "call":
                continue
            for scope in facts.functions_named(call.method):
                if at < len(scope.parameters) and _COLLECTION.search(scope.parameters[at].type):
                    yield call, found[1]
