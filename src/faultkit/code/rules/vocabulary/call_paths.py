"""Calls of functions of the same text that lead to a call, also through an object of a class of this text."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver
from faultkit.code.rules.vocabulary.waits import is_bounded

_LEVELS = 2
_BOUND_LEVELS = 3
_SOCKETS = ("websocket", "websocket_route")


def callers_of_function(scope: Scope, facts: Facts) -> tuple[Call, ...]:
    """Return the calls of a function: by its name, or on an object that is declared with its class."""
    found = facts.callers_of(scope)
    if not scope.owner or not scope.is_method:
        return found
    typed = [
        call
        for call in facts.calls_of_method(scope.short_name)
        if call.receiver == scope.owner
        or type_of_receiver(call, facts) == scope.owner
        or _is_declared(call, scope.owner, facts)
    ]
    return (*found, *(call for call in typed if call not in found))


def _is_declared(call: Call, owner: str, facts: Facts) -> bool:
    """Return whether the object of a call is a variable or parameter with a class of this text as its type.

    Also one that is named like the only class of this text with such a method: `app.state.geocoder`."""
    name, short = call.receiver_written, owner.rpartition(".")[2]
    if not name or name in ("self", "this") or name.endswith((")", "]")):
        return False
    if name.isidentifier():
        for scope in facts.functions_around(call):
            for each in scope.parameters:
                if each.name == name and each.type:
                    return each.type.rpartition(".")[2].strip("~?&*") == short
        made = facts.assignments_to(name, call)
        types = {each.type.rpartition(".")[2].strip("~?&*") for each in made if each.type}
        if types:
            return short in types
    last = name.rpartition(".")[2].strip("_").replace("_", "").lower()
    own = [each for each in facts.functions_named(call.method) if each.owner]
    return len(own) == 1 and len(last) > 3 and short.lower().endswith(last)


def callers_through(inner: Call, facts: Facts, levels: int = _LEVELS) -> Iterator[Call]:
    """Yield the calls that lead to a call through at most `levels` functions that are not async."""
    scope = facts.named_function_of(inner)
    if scope is None or scope.is_async or levels == 0:
        return
    for caller in callers_of_function(scope, facts):
        around = facts.named_function_of(caller)
        if around is scope:
            continue
        yield caller
        if around is not None and not around.is_async:
            yield from callers_through(caller, facts, levels - 1)


def is_bounded_on_all_paths(call: Call, facts: Facts, levels: int = _BOUND_LEVELS) -> bool:
    """Return whether something ends a call after a time: around it, or around each call of its function."""
    if is_bounded(call, facts):
        return True
    scope = facts.named_function_of(call)
    callers = () if scope is None or levels == 0 else callers_of_function(scope, facts)
    outside = [each for each in callers if facts.named_function_of(each) is not scope]
    return bool(outside) and all(is_bounded_on_all_paths(each, facts, levels - 1) for each in outside)


def calls_in_routes(call: Call, facts: Facts, levels: int = _LEVELS) -> Iterator[tuple[Call, Scope]]:
    """Yield the calls in request handlers that lead to a call, each with its handler.

    That is the call itself, or calls of functions of this text that make it, at most `levels` deep.
    Websocket routes are left out: once they are open, they have no status to answer with.
    """
    return ((path[0], route) for path, route in paths_from_routes(call, facts, levels))


def paths_from_routes(
    call: Call, facts: Facts, levels: int = _LEVELS
) -> Iterator[tuple[tuple[Call, ...], Scope]]:
    """Yield the calls from a request handler to a call, as `calls_in_routes` finds them, each with the
    handler."""
    route = facts.route_of(call)
    if route is not None:
        if not any(each.method in _SOCKETS for each in route.decorators):
            yield (call,), route
        return
    scope = facts.named_function_of(call)
    if scope is None or levels == 0 or facts.tries_around(call):
        return
    for caller in facts.callers_of(scope):
        if facts.named_function_of(caller) is not scope:
            for path, found in paths_from_routes(caller, facts, levels - 1):
                yield (*path, call), found


_TAKES_ALL = frozenset(("dict", "list", "max", "min", "set", "sorted", "sum", "tuple"))


def runs_later(path: tuple[Call, ...], facts: Facts) -> bool:
    """Return whether the last call of a path is made after the first one has returned: a generator is on the
    way, and is not iterated where it is called (Python)."""
    if facts.language != "python":
        return False
    route = facts.route_of(path[0])
    scopes = [facts.function_of(each) for each in path]
    is_nested = scopes[0] is not None and scopes[0] is not route and _is_generator(scopes[0], facts)
    return is_nested or any(
        scope is not None and _is_generator(scope, facts) and not _is_iterated(caller, facts)
        for caller, scope in zip(path, scopes[1:], strict=False)
    )


def _is_generator(scope: Scope, facts: Facts) -> bool:
    return any(step.kind == "yield" for step in facts.own(facts.steps, scope))


def _is_iterated(call: Call, facts: Facts) -> bool:
    """Return whether all items of what a call returns are taken at once, by a loop or a function."""
    around = facts.calls_around(call)
    if around and around[-1].name in _TAKES_ALL:
        return True
    text = facts.text(call.span)
    return any(
        each.kind == "each" and each.over.strip() == text and is_within(call.span, each.head)
        for each in facts.loops
    )


def makers_of_parts(call: Call, facts: Facts) -> tuple[Scope, ...]:
    """Return the functions of this text that make what a request is given: `headers=headers_for(order)`."""
    names = {
        each.method
        for each in facts.within(facts.calls, call.span)
        if each.is_argument and each.receiver_written in ("", "self", "this", "Self", "cls")
    }
    return facts.functions_named(*names) if names else ()
