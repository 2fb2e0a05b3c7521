"""Arguments that are the same in each call of a function: constants, settings, fields."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope

_ROOT = lazy_regex(r"(?<![\w.])[A-Za-z_]\w*")
_LITERALS = lazy_regex(r"\"(?:\\.|[^\"\\\n{$])*\"|'(?:\\.|[^'\\\n{$])*'")
_SETTINGS = lazy_regex(r"config|setting|option|\bopts\b|\bcfg\b|environment|\benv\b", re.IGNORECASE)
_OF_REQUEST = lazy_regex(r"\b[rR]equest\.|\bHttpContext\b|\breq\.")
_LEVELS = 3


def is_fixed(text: str, place: Call, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether an expression does not change with what the function around it is given."""
    if _OF_REQUEST.search(text):
        return False
    scope = facts.named_function_of(place)
    given = {
        name: each.type
        for around in facts.functions_around(place)
        if not makes_object(around)
        for each in around.parameters
        for name in _ROOT.findall(each.name)  # `{ id, name }`
    }
    items = {
        word for loop in facts.loops_around(place) for each in loop.targets for word in _ROOT.findall(each)
    }
    for name in {*_ROOT.findall(_LITERALS.sub("", text))} - {"self", "this"}:
        if name in items:
            return False
        if name in given:
            if _SETTINGS.search(name) or _SETTINGS.search(given[name]):
                continue
            if scope is None or not levels or not is_given_fixed(name, scope, facts, levels):
                return False
            continue
        for each in facts.assignments_to(name, place):
            if each.scope is None or each.value is None or each.value.text == text:
                continue
            if not levels or not is_fixed(each.value.text, place, facts, levels - 1):
                return False
    return True


def makes_object(scope: Scope) -> bool:
    """Return whether a function is the constructor of its class."""
    return scope.short_name in ("__init__", "constructor", "init", scope.owner.rpartition(".")[2]) and bool(
        scope.owner
    )


def is_given_fixed(name: str, scope: Scope, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether all callers in this text give the same for a parameter."""
    names = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
    callers = [each for each in facts.callers_of(scope) if facts.named_function_of(each) is not scope]
    if name not in names or not callers:
        return False
    for caller in callers:
        given = caller.argument(name, place=names.index(name))
        if given is None or not is_fixed(given.value.text, caller, facts, levels - 1):
            return False
    return True
