"""C#: whether a token of cancellation also ends a call after a time.

A token that stands for the end of the process, or for a client that leaves, is no limit: a peer that falls
silent is waited for until then.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.built_requests import cancellation_tokens

_LEVELS = 3
_NONE = lazy_regex(r"^(?:System\.Threading\.)?CancellationToken\.None$|^default(?:\(CancellationToken\))?$")
_OF_PROCESS = lazy_regex(r"[sS]topping|[sS]hutdown|[lL]ifetime")
_TOKEN = lazy_regex(r"(?:^|[.\s])(?:ct|\w*[tT]oken)$|\.Token$")


def token_of(call: Call, facts: Facts) -> str:
    """Return the token that a call is given, as written; empty if there is none."""
    scope = facts.named_function_of(call)
    tokens = set() if scope is None else cancellation_tokens(scope)
    for each in reversed(call.arguments):
        text = each.value.text
        if text in tokens or _TOKEN.search(text) or _NONE.match(text):
            return text
    return ""


def is_limited(call: Call, facts: Facts) -> bool | None:
    """Return whether the token of a call ends it after a time; None if that depends on other texts."""
    if any(call.span.start >= each.span.start and call.span.end <= each.span.end for each in _waits(facts)):
        return True
    return _is_limited(token_of(call, facts), call, facts, _LEVELS)


def _waits(facts: Facts) -> tuple[Call, ...]:
    """Return the calls `task.WaitAsync(limit)`."""
    return tuple(each for each in facts.calls_of_method("WaitAsync") if each.arguments)


def _is_limited(token: str, place: Call, facts: Facts, levels: int) -> bool | None:
    if not token or _NONE.match(token):
        return False
    scope = facts.named_function_of(place)
    if scope is None:
        return None
    source = token.removesuffix(".Token")
    if _is_source(source, scope, facts):
        return _ends_by_time(source, facts.text(scope.span)) or _ends_by_time(source, facts.whole_text)
    for each in facts.assignments_to(source, place):
        if each.value is not None and each.value.text.endswith(".Token") and levels:
            return _is_limited(each.value.text, place, facts, levels - 1)
    if source in {each.name for each in scope.parameters}:
        return _is_given_limited(source, scope, facts, levels)
    return False if _OF_PROCESS.search(token) else None


def _is_source(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a variable or field of this name holds a source of tokens."""
    known = re.escape(name.removeprefix("self.").removeprefix("this."))
    made = rf"\b{known}\b\s*=\s*(?:new\b|CancellationTokenSource\.)"
    return re.search(made, facts.text(scope.span)) is not None or (
        "." not in name.removeprefix("this.") and re.search(made, facts.whole_text) is not None
    )


def _ends_by_time(source: str, text: str) -> bool:
    """Return whether a source of tokens is made with a time, or is given one later."""
    known = re.escape(source.removeprefix("this."))
    return (
        re.search(
            rf"\b{known}\.CancelAfter\(|\b{known}\s*=\s*new(?:\s+CancellationTokenSource)?\(\s*[^\s)]", text
        )
        is not None
    )


def _is_given_limited(name: str, scope: Scope, facts: Facts, levels: int) -> bool | None:
    """Return whether all callers of this text give such a token; one that does not is enough."""
    callers = [each for each in facts.callers_of(scope) if facts.named_function_of(each) is not scope]
    if not callers or levels == 0:
        return False if _OF_PROCESS.search(name) else None
    place = next(at for at, each in enumerate(scope.parameters) if each.name == name)
    found = list[bool | None]()
    for caller in callers:
        given = caller.argument(name, place=place)
        if any(
            caller.span.start >= each.span.start and caller.span.end <= each.span.end
            for each in _waits(facts)
        ):
            found.append(True)
        else:
            found.append(_is_limited("" if given is None else given.value.text, caller, facts, levels - 1))
    return False if False in found else None if None in found else True
