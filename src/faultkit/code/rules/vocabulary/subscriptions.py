"""JavaScript: listeners and intervals that stay until they are removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Value
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connections import opens_connection
from faultkit.code.rules.vocabulary.failures import is_handler
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.removals import is_known_function, is_taken_away
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.short_lives import Repeated, gives_endless, outlives, repeated_around

_LISTENS = frozenset({"on", "addListener", "addEventListener", "prependListener", "subscribe"})
_ADDS = NamePattern(
    r"^(on[A-Z]\w*|(add|register)\w*(Listener|Observer|Handler|Callback|Subscriber|Watcher)|subscribe\w*|observe|watch|pSubscribe)$"
)
"""Further calls that are given a function to call later."""
_ENDS_ITSELF = lazy_regex(r"\.(pipe|take\w*|first|find|last|toPromise)\b|\(\)")
_ARRIVALS = frozenset({"connection", "request", "session", "upgrade", "secureConnection"})
"""Events that come once for every client."""
_ABORT = ("abort", "'abort'", '"abort"')
_SHARED = lazy_regex(r"(bus|emitter|events|pubsub|redis|broker)$", re.IGNORECASE)
_GLOBALS = frozenset({"process", "window", "document", "globalThis", "self"})
_EFFECTS = frozenset({"useEffect", "useLayoutEffect", "React.useEffect"})
_INTERVALS = frozenset({"setInterval", "window.setInterval", "global.setInterval"})
_CLEARS = lazy_regex(r"\bclear(Interval|Timeout)\b|\.unref\(\)|\.clear\(|\.cancel\(")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A call after which a function is called until something ends that."""

    call: Call
    often: str
    """How often the call runs: for each `request`, `message`, `connection`, `call` or `rendering`."""


def kept_listeners(facts: Facts) -> Iterator[Subscription]:
    """Yield listeners that are added again and again to one object, and never removed."""
    for call in facts.calls:
        listens = call.method in _LISTENS
        if not listens and not _ADDS.match(call.method):
            continue
        if not call.receiver_written or call.is_returned or call.assigned or call.is_argument:
            # What is returned or kept may remove the listener.
            continue
        given = _given(call, facts)
        if given is None or _ends_by_option(call) or is_abort(call):
            continue
        often = _often_in_call(call, facts) if listens and len(call.positional) > 1 else ""
        if often:
            found = _outlives(call, facts)
        else:
            run = repeated_around(call, facts)
            often = "" if run is None else run.of
            found = run is not None and _is_kept_by(call, given, run, facts)
        if often and found and not is_taken_away(call, given, facts):
            yield Subscription(call, often)


def is_abort(call: Call) -> bool:
    """Return whether a call listens for the abort of a signal."""
    first = call.argument(place=0)
    return first is not None and first.value.text in _ABORT


def _given(call: Call, facts: Facts) -> Value | None:
    """Return the function that a call is given to call later."""
    if call.method in _LISTENS and len(call.positional) > 1:
        return call.positional[1].value
    if call.method in ("on", "addEventListener", "addListener", "prependListener"):
        return None
    given = [each.value for each in call.positional if _is_function(each.value, facts)]
    return given[-1] if given else None


def _is_function(value: Value, facts: Facts) -> bool:
    return value.shape == "function" or is_known_function(value, facts)


def _ends_by_option(call: Call) -> bool:
    """Return whether the options end it: `{ once: true }`, `{ signal }`."""
    return any(
        (each.name == "once" and each.value.shape == "true") or each.name == "signal"
        for each in call.arguments
    )


def _is_kept_by(call: Call, given: Value, run: Repeated, facts: Facts) -> bool:
    """Return whether what is listened to outlives the run, and its listener works for this run alone."""
    receiver = call.receiver_written
    if not gives_endless(receiver, call, run, facts) and (
        _ENDS_ITSELF.search(receiver) or not outlives(receiver, call, run, facts)
    ):
        return False
    if call.method in _LISTENS and len(call.positional) > 1:
        return True
    # Any other method may keep nothing: the function must use what this run alone has.
    scope = facts.function_at(given.span)
    text = facts.text(scope.span) if scope is not None else facts.text(given.span)
    names = {word for one in run.scope.parameters for word in re.findall(r"[A-Za-z_$][\w$]*", one.name)}
    names |= {
        target
        for each in facts.own(facts.assignments, run.scope)
        for target in each.targets
        if target.isidentifier()
    }
    return any(re.search(rf"(?<![\w$.]){re.escape(name)}\b", text) for name in names)


def kept_intervals(facts: Facts) -> Iterator[Subscription]:
    """Yield intervals that are started again and again, and never cleared."""
    for call in facts.calls:
        if call.name in _INTERVALS and (often := _how_often(call, facts)):
            text = _function_text(call, facts)
            if not _CLEARS.search(text) and not _is_kept(call, facts):
                yield Subscription(call, often)


def _often_in_call(call: Call, facts: Facts) -> str:
    """Return `rendering` or `call` for a listener of an effect of React, or of a promise."""
    often = _how_often(call, facts)
    return often if often in ("rendering", "call") else ""


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
