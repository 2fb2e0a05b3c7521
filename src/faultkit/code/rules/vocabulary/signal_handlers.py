"""Functions that Node.js calls when the process is asked to end."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.build import is_logging


def handlers_of_sigterm(facts: Facts) -> Iterator[Scope]:
    """Yield the functions that handle SIGTERM, and those that they only pass it on to."""
    seen: set[Scope] = set()
    for call in facts.calls_named("process.on", "process.once"):
        given = call.argument(place=1)
        if given is None or not _is_sigterm(call, facts):
            continue
        for scope in facts.scopes:
            by_name = given.value.shape == "name" and scope.name and scope.short_name == given.value.text
            if scope.span != given.value.span and not by_name:
                continue
            passed = _passed_on(scope, facts)
            if passed not in seen:
                seen.add(passed)
                yield passed


def _is_sigterm(call: Call, facts: Facts) -> bool:
    """Return whether the event is SIGTERM: `process.on(signal, …)` may stand in a loop over several."""
    event = call.argument(place=0)
    if event is None:
        return False
    if event.value.shape != "name":
        return event.value.literal == "SIGTERM"
    return any("SIGTERM" in facts.text(each.span) for each in facts.loops_around(call, across=True))


def _passed_on(scope: Scope, facts: Facts) -> Scope:
    """Return the function of this text that a handler calls and nothing else: `() => shutdown('SIGTERM')`."""
    inside = [call for call in facts.within(facts.calls, scope.body) if not is_logging(call)]
    if len(inside) != 1 or inside[0].receiver:
        return scope
    named = facts.functions_named(inside[0].method)
    return named[0] if len(named) == 1 else scope
