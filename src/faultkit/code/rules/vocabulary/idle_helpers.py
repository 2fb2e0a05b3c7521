"""Loops whose pause stands only where something fails, and loops that ask for a state until it changes.

    while (!stopped) {                         status = api.status(id)
        try { publish(outbox.nextBatch()); }   while status == "running":
        catch (IOException e) { sleep(5); }        status = api.status(id)
    }

The work of a round may stand in a function of the same text. What a loop asks is known by `idle_rounds`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.idle_rounds import (
    STATES,
    TAKES_NOW,
    IdleRound,
    answers_at_once,
    asks_service,
    may_wait,
)
from faultkit.code.rules.vocabulary.loop_conditions import WAITS_IN_HEAD, goes_on
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.waits import is_sleep

_FAILED = lazy_regex(r"\s*(?:Some\()?Err\(|\s*case\s+(?:err\s*!=|errors\.)|\s*is\s+\w*(?:Failure|Error)")
_EXITS = ("return", "break", "raise", "yield")
_WAITING_TEXT = TextPattern(r"select!|<-|\bselect\s*\{|\byield\b")
_OWN = ("", "self", "this", "Self")
_LISTS = lazy_regex(
    r"batch|pending|due|unsent|unpublished|ready|queued|claim|jobs?$|tasks?$|events?$|next", re.I
)


def idle_by_helper(facts: Facts) -> Iterator[IdleRound]:
    """Yield loops without a pause in a round that finds nothing and does not fail."""
    for loop in facts.loops:
        if loop.kind not in ("endless", "while") or WAITS_IN_HEAD.search(loop.over):
            continue
        if loop.kind == "while" and (found := _until_state(loop, facts)) is not None:
            yield found
            continue
        if (
            goes_on(loop, facts)
            and not facts.loops_around(loop)
            and (found := _round(loop, facts)) is not None
        ):
            yield found


_SOON = frozenset(("setImmediate", "process.nextTick", "queueMicrotask", "setTimeout"))


def self_scheduled(facts: Facts) -> Iterator[IdleRound]:
    """Yield functions of JavaScript that ask for work and run again at once: `setImmediate(poll)`."""
    if facts.language not in ("javascript", "typescript", "tsx"):
        return
    for call in facts.calls_of_method("setImmediate", "nextTick", "queueMicrotask", "setTimeout"):
        scope = facts.named_function_of(call)
        if call.name not in _SOON or scope is None or not call.arguments or not scope.short_name:
            continue
        if call.method == "setTimeout" and not (
            len(call.positional) == 2 and call.positional[1].value.text == "0"
        ):
            continue
        name = re.escape(scope.short_name)
        # Given itself, or called: a text or a key of the same name does not run it.
        again = re.search(rf"\b{name}\s*\(|^(?:this\.)?{name}(?:\.bind\(.*)?$", call.arguments[0].value.text)
        if again is None or any(
            is_within(call.span, arm.span) for arm in facts.within(facts.arms, scope.body)
        ):
            continue
        if any(
            step.kind == "return"
            for step in facts.within(facts.steps, Span(scope.body.start, call.span.start))
        ):
            continue
        inside = [each for each in facts.within(facts.calls, scope.body) if each is not call]
        asks = next((each for each in inside if answers_at_once(each, facts)), None)
        if asks is not None and not any(may_wait(each, facts) for each in inside if each is not asks):
            yield IdleRound(asks, call.span, f"{scope.short_name}() runs again at once when there is nothing")


def _round(loop: Loop, facts: Facts) -> IdleRound | None:
    calls = list(facts.within(facts.calls, loop.body))
    if not calls or _WAITING_TEXT.search(facts.text(loop.body)):
        return None
    failed = _failure_places(loop.body, facts)
    calls = [call for call in calls if not _is_in(call.span, failed)]
    if not calls or len(calls) > 20:
        return None
    if any(
        step.kind in _EXITS and not _is_in(step.span, failed) for step in facts.within(facts.steps, loop.body)
    ):
        return None
    helpers = [(call, scope) for call in calls if (scope := _own_scope(call, facts)) is not None]
    others = [call for call in calls if not any(call is each for each, _ in helpers)]
    if any(may_wait(call, facts) for call in others):
        return None
    if any(_pauses(scope, facts) for _, scope in helpers):
        return None
    for call, scope in helpers:
        inner = _failure_places(scope.body, facts)
        for each in facts.within(facts.calls, scope.body):
            if _asks(each, inner, facts) and facts.named_function_of(each) is scope:
                what = f"{call.written}() is called again at once when {each.written}() finds nothing"
                return IdleRound(call, Span(loop.span.start, call.span.end), what, loop)
    if failed:  # Without a pause that failures get, `idle_rounds` knows the loop.
        for call in others:
            if _asks(call, failed, facts) and call.assigned and facts.loops_around(call)[-1:] == (loop,):
                what = f"{call.written}() is called again at once when there is nothing"
                return IdleRound(call, Span(loop.span.start, call.span.end), what, loop)
    return None


def _asks(call: Call, failed: list[Span], facts: Facts) -> bool:
    if _is_in(call.span, failed) or is_logging(call) or call.constructs or is_sleep(call):
        return False
    return (not facts.loops_around(call) or _LISTS.search(call.method) is not None) and answers_at_once(
        call, facts
    )


def _pauses(scope: Scope, facts: Facts) -> bool:
    """Return whether a function may wait, or does not come back, where nothing has failed."""
    failed = _failure_places(scope.body, facts)
    if _WAITING_TEXT.search(facts.text(scope.body)) or any(
        each.kind == "endless" for each in facts.within(facts.loops, scope.body)
    ):
        return True
    return any(
        may_wait(each, facts)
        for each in facts.within(facts.calls, scope.body)
        if not _is_in(each.span, failed)
    )


def _own_scope(call: Call, facts: Facts) -> Scope | None:
    """Return the function of this text that a call runs, if it is the only one of its name."""
    if call.receiver_written not in _OWN:
        return None
    found = facts.functions_named(call.method)
    return found[0] if len(found) == 1 else None


def _failure_places(span: Span, facts: Facts) -> list[Span]:
    found = [handler.body for each in facts.within(facts.tries, span) for handler in each.handlers]
    found += [arm.span for arm in facts.within(facts.arms, span) if _FAILED.match(facts.text(arm.span)[:40])]
    return found


def _is_in(span: Span, places: list[Span]) -> bool:
    return any(is_within(span, each) for each in places)


_PAGES = lazy_regex(
    r"cursor|offset|page|next|token|more|remaining|left\b|lastKey|LastEvaluatedKey", re.IGNORECASE
)
DRAWS = lazy_regex(r"random|uuid|nanoid|snowflake|generat\w*\(|\brand\b", re.IGNORECASE)


def _until_state(loop: Loop, facts: Facts) -> IdleRound | None:
    """Return a call whose answer is the condition of the loop, and that nothing else is done between.

    Loops over pages, and those that draw a new name until it is free, wait for nothing."""
    if _PAGES.search(loop.over) or DRAWS.search(facts.text(loop.body)):
        return None
    words = {*re.findall(r"[A-Za-z_]\w*", loop.over)}
    calls = list(facts.within(facts.calls, loop.body))
    assigned = list(facts.within(facts.assignments, loop.body))
    changed = {name for each in assigned for name in each.targets}
    for each in assigned:
        # `done = job.finished` of a job that was asked for
        if words.intersection(each.targets) and each.value is not None:
            words.update(changed.intersection(re.findall(r"[A-Za-z_]\w*", each.value.text)))
    asked = [each.call for each in assigned if each.call is not None and words.intersection(each.targets)]
    asked += [call for call in calls if words.intersection(call.assigned) and call not in asked]
    head = Span(loop.span.start, loop.body.start)
    asked += [call for call in facts.within(facts.calls, head) if call.receiver_written]
    for call in asked:
        if call.method in TAKES_NOW:
            continue  # What it takes is gone, and the loop ends when there is nothing.
        if not STATES.search(loop.over) and not STATES.search(call.method):
            continue
        given = {word for one in call.arguments for word in re.findall(r"\w+", one.value.text)}
        if given & changed or not asks_service(call, facts):
            continue
        if is_within(call.span, loop.body) and facts.loops_around(call)[-1:] != (loop,):
            continue
        others = [one for one in calls if one is not call and not is_within(one.span, call.span)]
        if any(may_wait(one, facts) or not _is_quick(one) for one in others):
            continue
        if _WAITING_TEXT.search(facts.text(loop.body)):
            continue
        what = f"{call.written}() is called again at once until the state is another"
        return IdleRound(call, Span(loop.span.start, call.span.end), what, loop)
    return None


_QUICK = lazy_regex(
    r"^(ThrowIfCancellationRequested|ensureActive|throwIfAborted|checkpoint|Err|now|Now|Since)$"
)


def _is_quick(call: Call) -> bool:
    return is_logging(call) or call.constructs or call.is_argument or _QUICK.match(call.method) is not None
