"""Calls on an object that the code of this text is given: what it is, by the calls that give it.

`self._s3.put_object(…)` after `self._s3 = s3` in the constructor: the object is what a call such as
`Publisher(boto3.client("s3"))` gives. No type is declared, so the resolver does not know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from faultkit.code.facts import Call, Facts, Scope

_CONSTRUCTORS = ("__init__", "constructor")


def name_by_giver(call: Call, facts: Facts) -> str:
    """Return the name of a call through what its object was given as; empty if no caller shows it."""
    owner, _, more = call.receiver_written.partition(".")
    if owner == "self" and more and _fields(facts):
        field, _, more = more.partition(".")
        scope = facts.named_function_of(call)
        origin = "" if scope is None else _fields(facts).get((scope.owner, field), "")
    elif call.receiver.startswith("~"):
        origin = _parameter(owner, call, facts)
    else:
        return ""
    return ".".join(part for part in (origin, more, call.method) if part) if origin else ""


@lru_cache(maxsize=4)
def _fields(facts: Facts) -> dict[tuple[str, str], str]:
    """Return what fields hold that a constructor copies from its parameters, by class and field."""
    found = dict[tuple[str, str], str]()
    for scope in facts.functions_named(*_CONSTRUCTORS):
        names = [each.name for each in scope.parameters if not each.type]
        if not scope.owner or not names:
            continue
        for each in facts.own(facts.assignments, scope):
            given = "" if each.value is None else each.value.text
            if given in names and each.targets[0].startswith("self."):
                origin = next((_origin(given, made, scope, facts) for made in _made(scope, facts)), "")
                if origin:
                    found[scope.owner, each.targets[0][5:]] = origin
    return found


def _made(constructor: Scope, facts: Facts) -> Iterator[Call]:
    short = constructor.owner.rpartition(".")[2]
    return (call for call in facts.calls_of_method(short) if call.constructs)


def _parameter(name: str, call: Call, facts: Facts) -> str:
    """Return what the callers of the function around a call give for an untyped parameter."""
    scope = facts.named_function_of(call)
    if scope is None or not any(each.name == name and not each.type for each in scope.parameters):
        return ""
    found = {_origin(name, each, scope, facts) for each in facts.callers_of(scope)}
    return found.pop() if len(found) == 1 else ""


def _origin(name: str, made: Call, scope: Scope, facts: Facts) -> str:
    """Return the name of what a call gives for a parameter, if a call of this text made that."""
    own = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
    given = made.argument(name, place=own.index(name)) if name in own else None
    if given is None:
        return ""
    text = given.value.text
    if given.value.shape == "call":
        inner = [
            each for each in facts.within(facts.calls, given.value.span) if each.span == given.value.span
        ]
        return _result(inner[0]) if inner else ""
    sources = [each.call for each in facts.assignments_to(text, made) if each.targets == (text,)]
    return _result(sources[-1]) if sources and sources[-1] is not None else ""


def _result(call: Call) -> str:
    return call.name if call.constructs else f"{call.name}()"
