"""Java: finds values of a thread that the next request on the same thread still has.

Evidence that it matters: the rest of the request runs in the same function, which does not clear the value.
Spring clears its own contexts at the end of its chain of filters, and a value that the same function removes
first is overwritten for each request: both are `POSSIBLE`.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import JAVA, LIKELY, POSSIBLE, Hit, Rule

_PASSES_ON = frozenset(("doFilter", "proceed"))
"""Calls that run the rest of the request: `chain.doFilter(…)`, `joinPoint.proceed()`."""
_KNOWN = lazy_regex(
    r"(^|\.)(MDC\.put|ThreadContext\.put|SecurityContextHolder\.setContext|RequestContextHolder\.set\w+"
    r"|LocaleContextHolder\.set\w+)$"
)
_CLEARS = lazy_regex(r"^(remove|clear|reset|unset|close|unload|restore|pop)")


def _check(facts: Facts) -> Iterator[Hit]:
    kept = {
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if each.scope is None and each.type.rpartition(".")[2] in ("ThreadLocal", "InheritableThreadLocal")
    }
    setters = {_owned(scope) for scope in facts.scopes if any(_sets(scope, kept, facts))}
    for rest in facts.calls_of_method(*_PASSES_ON):
        scope = facts.function_of(rest)
        if scope is None:
            continue
        sets = [
            call
            for call in facts.own(facts.calls, scope)
            if call.span.end <= rest.span.start
            and (_KNOWN.search(call.name) or _is_set(call, kept) or call.written in setters)
            and not call.is_managed
        ]
        if sets and not _is_cleared(sets[0], scope, facts):
            what = f"what {sets[0].written}() sets stays on the thread after this request"
            sure = POSSIBLE if all(_is_replaced(each, scope, facts) for each in sets) else LIKELY
            yield Hit(sets[0].span, what, sure)


_OF_SPRING = lazy_regex(r"(^|\.)(SecurityContextHolder|RequestContextHolder|LocaleContextHolder)\.set\w+$")


def _is_replaced(made: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a framework clears a value, or the same function removes it before it is set."""
    if _OF_SPRING.search(made.name):
        return True
    return any(
        each.span.end <= made.span.start
        and each.receiver_written == made.receiver_written
        and _CLEARS.match(each.method) is not None
        for each in facts.own(facts.calls, scope)
    )


def _owned(scope: Scope) -> str:
    """Return how other classes call a static method: `Tenants.set`."""
    return f"{scope.owner.rpartition('.')[2]}.{scope.short_name}"


def _sets(scope: Scope, kept: set[str], facts: Facts) -> Iterator[Call]:
    return (call for call in facts.own(facts.calls, scope) if _is_set(call, kept))


def _is_set(call: Call, kept: set[str]) -> bool:
    owner = call.receiver_written.removeprefix("self.")
    # `set(null)` is a way to clear it.
    return call.method == "set" and owner in kept and call.positional[0].value.shape != "none"


def _is_cleared(made: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a value is cleared, or the one before it is put back, on every way out."""
    return any(
        facts.is_in_finally(call)
        and (
            _CLEARS.match(call.method)
            or call.written == made.written
            or call.receiver_written == made.receiver_written
        )
        for call in facts.within(facts.calls, scope.span)
    )


RULE = Rule(
    id="FK-R080",
    slug="thread-local-not-removed",
    title="Value left on a pooled thread",
    why="Threads of a pool serve one request after another: the next one sees the tenant, user or log fields "
    "of the one before.",
    fix="Remove it in finally, around the call that runs the rest of the request.",
    kind="reliability",
    severity="high",
    languages=JAVA,
    check=_check,
    words=(b"doFilter", b"proceed"),
)
