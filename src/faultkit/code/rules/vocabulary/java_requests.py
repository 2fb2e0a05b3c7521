"""Requests of `java.net.http`: the method and the time limit that their builders give them (Java, Kotlin).

A client of this library limits no more than connecting: the limit of an answer belongs to each request.
"""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.fact_values import Value

_BUILT_BY = lazy_regex(r"(\w+)\.build\(\)")
_MADE_BY = lazy_regex(r"(?:this\.)?(\w+)\(")
_LEVELS = 3
"""Functions of a text through which a request is followed."""


def java_method(call: Call, facts: Facts) -> str:
    """Return the method of the request that a call sends; empty if it is unknown."""
    given = call.argument(place=0)
    text = "" if given is None else given.value.text
    if given is not None and given.value.shape == "name":
        built = [each.value.text for each in facts.assignments_to(text, call) if each.value is not None]
        text = next((each for each in built if "newBuilder" in each), "")
    for method in ("POST", "PUT", "DELETE"):
        if f".{method}(" in text:
            return method
    return "GET" if "newBuilder" in text else ""


def java_timeout(call: Call, facts: Facts) -> bool | None:
    """Return whether the request that a call sends has a limit; None if it is unknown."""
    given = call.argument(place=0)
    return None if given is None else _limit_of(given.value, call, facts, _LEVELS)


def _limit_of(request: Value, call: Call, facts: Facts, levels: int) -> bool | None:
    """Return whether a request that is given to a call has a limit."""
    text = request.text
    if request.shape == "name":
        built = [
            each.value.text
            for each in facts.assignments_to(text, call)
            if each.value is not None and "newBuilder" in each.value.text
        ]
        if not built:
            return _limit_by_callers(text, call, facts, levels) if levels else None
        text = built[-1]
    elif (built_by := _BUILT_BY.fullmatch(text)) is not None:
        return _builder_timeout(built_by[1], call, facts)
    elif "newBuilder" not in text and (made := _MADE_BY.match(text)) is not None:
        own = [facts.text(each.span) for each in facts.functions_named(made[1])]
        if any(".timeout(" in each for each in own):
            return True
        return False if any("newBuilder" in each for each in own) else None
    return ".timeout(" in text


def _limit_by_callers(name: str, call: Call, facts: Facts, levels: int) -> bool | None:
    """Return whether the request in a parameter has a limit by all callers of this text.

    A future that is returned may be ended by its caller."""
    scope = facts.function_of(call)
    if scope is None or call.method == "sendAsync" or facts.assignments_to(name, call):
        return None
    names = [each.name for each in scope.parameters]
    if name not in names:
        return None
    known = list[bool | None]()
    for caller in facts.callers_of(scope):
        given = caller.argument(name, place=names.index(name))
        known.append(None if given is None else _limit_of(given.value, caller, facts, levels - 1))
    return False if False in known else None if None in known or not known else True


def _builder_timeout(name: str, call: Call, facts: Facts) -> bool | None:
    """Return whether the builder of a request in a variable is given a limit."""
    made = [each.value.text for each in facts.assignments_to(name, call) if each.value is not None]
    if not any("newBuilder" in each for each in made):
        return None
    later = (each for each in facts.calls_of_method("timeout") if each.written.startswith(f"{name}."))
    return any(".timeout(" in each for each in made) or any(later)
