"""JavaScript: listeners and intervals that stay until they are removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connections import opens_connection
from faultkit.code.rules.vocabulary.failures import is_handler
from faultkit.code.rules.vocabulary.repetition import frequency_of

_LISTENS = frozenset({"on", "addListener", "addEventListener", "prependListener", "subscribe"})
_REMOVES = re.compile(
    r"\.(off|removeListener|removeEventListener|removeAllListeners|unsubscribe|abort)\s*\(|\bonce\s*:\s*true|\bsignal\b"
)
_ARRIVALS = frozenset({"connection", "request", "session", "upgrade", "secureConnection"})
"""Events that come once for every client."""
_SHARED = re.compile(r"(bus|emitter|events|pubsub|redis|broker)$", re.IGNORECASE)
_GLOBALS = frozenset({"process", "window", "document", "globalThis", "self"})
_EFFECTS = frozenset({"useEffect", "useLayoutEffect", "React.useEffect"})
_INTERVALS = frozenset({"setInterval", "window.setInterval", "global.setInterval"})
_CLEARS = re.compile(r"\bclear(Interval|Timeout)\b|\.unref\(\)|\.clear\(|\.cancel\(")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A call after which a function is called until something ends that."""

    call: Call
    often: str
    """How often the call runs: for each `request`, `message`, `connection`, `call` or `rendering`."""


def kept_listeners(facts: Facts) -> Iterator[Subscription]:
    """Yield listeners that are added again and again to one object, and never removed."""
    for call in facts.calls_of_method(*_LISTENS):
        if len(call.positional) < 2 or not call.receiver_written or call.is_returned or call.assigned:
            # What is returned or kept may remove the listener.
            continue
        often = _how_often(call, facts)
        if often and _outlives(call, facts) and not _REMOVES.search(_function_text(call, facts)):
            yield Subscription(call, often)


def kept_intervals(facts: Facts) -> Iterator[Subscription]:
    """Yield intervals that are started again and again, and never cleared."""
    for call in facts.calls:
        if call.name in _INTERVALS and (often := _how_often(call, facts)):
            text = _function_text(call, facts)
            if not _CLEARS.search(text) and not _is_kept(call, facts):
                yield Subscription(call, often)


def _how_often(call: Call, facts: Facts, levels: int = 1) -> str:
    effect = _effect_around(call, facts)
    if effect is not None:
        # The function that an effect returns ends what the effect has begun.
        ends = any(
            step.kind == "return" and facts.function_of(step) is effect
            for step in facts.within(facts.steps, effect.body)
        )
        return "" if ends or not facts.text(effect.body).startswith("{") else "rendering"
    if any(is_handler(scope) for scope in facts.functions_around(call)):
        return "request"
    for each in facts.calls_around(call):
        first = each.argument(place=0)
        if each.method in _LISTENS and first is not None and first.value.literal in _ARRIVALS:
            return first.value.literal
        own = call.receiver_written.startswith("self") and not _SHARED.search(call.receiver_written)
        if each.name == "Promise" and call.method in _LISTENS and not own:
            return "call"
    if any(opens_connection(scope) for scope in facts.functions_around(call)):
        return "connection"
    found = frequency_of(call, facts)
    if found in ("request", "message"):
        return found
    scope = facts.named_function_of(call) if levels and call.name in _INTERVALS else None
    callers = () if scope is None else facts.callers_of(scope)
    return next((often for each in callers if (often := _how_often(each, facts, levels - 1))), "")


def _effect_around(call: Call, facts: Facts) -> Scope | None:
    scope = facts.function_of(call)
    for each in facts.calls_around(call):
        if each.name.rpartition(".")[2] in _EFFECTS or each.written in _EFFECTS:
            given = each.argument(place=0)
            if scope is not None and given is not None and given.value.span == scope.span:
                return scope
    return None


def _outlives(call: Call, facts: Facts) -> bool:
    """Return whether the object that is listened to lives longer than the function."""
    head = call.receiver_written.partition(".")[0].partition("(")[0]
    if head in _GLOBALS or head in facts.imports.names:
        return "(" not in call.receiver_written
    around = list(facts.functions_around(call))
    if any(head == each.name for scope in around for each in scope.parameters):
        return False
    if any(head in each.targets and each.scope in around for each in facts.assignments):
        return False
    return head in facts.file_names


def _is_kept(call: Call, facts: Facts) -> bool:
    """Return whether the interval is kept, and cleared somewhere in the file."""
    source = facts.syntax.source
    return bool(call.assigned) and (b"clearInterval" in source or b"clearTimeout" in source)


def _function_text(call: Call, facts: Facts) -> str:
    around = list(facts.functions_around(call))
    span = around[0].span if around else Span(0, len(facts.syntax.source))
    return facts.text(span)
