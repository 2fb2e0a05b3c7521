"""Java: handlers of `InterruptedException` that lose the interrupt, and what goes on after them.

An interrupt asks a thread to end. It matters that a handler loses it where the thread then goes on: in a loop
that only the flag would end, with the same work once more, with another wait, or with a success as result.
A handler that logs and returns ends the work all the same.
"""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Loop, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_ENDS = lazy_regex(r"^(?:close|stop|shut_?down|destroy|dispose|terminate|tearDown)|\w+(?:Stopped|Stopping)$")
_SUCCESS = lazy_regex(r"[\s}]*return\s+true\s*;[\s}]*$")
_ENDLESS_WAITS = frozenset(("get", "join", "await", "take", "waitFor", "acquire", "wait"))
"""Without arguments, these wait until something happens."""
_PLAIN = lazy_regex(
    r"^(?:set|get|is|has|add|put|remove|contains|size|equals|to|of|length|append)(?:[A-Z]\w*)?$"
)
"""Methods of collections and values, which say nothing about the work that is done."""


def is_interrupt_lost(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler catches an interrupt, and neither it nor what follows passes it on."""
    if not any(name.rpartition(".")[2] == "InterruptedException" for name in handler.types):
        return False
    calls = [call.method for call in facts.within(facts.calls, handler.body)]
    if handler.raises or "interrupt" in calls or _is_remembered(handler, facts):
        return False
    if _is_set_later(handler, facts):
        return False
    # A thread of one's own ends, or looks for its end in the next round.
    scope = facts.named_function_of(handler)
    if scope is not None and _ENDS.match(scope.short_name) and not facts.loops_around(handler):
        return False  # Nothing that could be interrupted comes after the end.
    return scope is None or scope.short_name != "run" or _stays_in_loop(handler, facts)


_BLOCKING_TYPES = lazy_regex(
    r"(?:^|\.)(?:BlockingQueue|BlockingDeque|TransferQueue|LinkedBlockingQueue|LinkedBlockingDeque|ArrayBlockingQueue"
    r"|PriorityBlockingQueue|SynchronousQueue|DelayQueue|LinkedTransferQueue|Semaphore|CountDownLatch|CyclicBarrier"
    r"|Condition|WatchService)$"
)
_INTERRUPTED_WAITS = frozenset(("take", "put", "acquire", "await", "takeFirst", "takeLast", "transfer"))
_LIMITED_WAITS = frozenset(("poll", "offer", "tryAcquire"))
"""Waits if they are given a time."""
_SLEEP = lazy_regex(r"(?:^|\.)Thread\.sleep$|(?:^|\.)TimeUnit\.\w+\.sleep$")


def is_interrupt_caught_with_all(tried: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether a broad handler in an endless loop catches the interrupt that should end the loop.

    The try waits with a call that throws `InterruptedException`, and this text interrupts the thread or asks
    for its flag."""
    if not handler.is_broad or handler.raises or handler.exits or "nterrupt" in facts.text(handler.body):
        return False
    if any("Interrupted" in name for each in tried.handlers for name in each.types):
        return False
    loops = facts.loops_around(handler)
    if not loops or not _is_endless(loops[-1], handler, facts):
        return False
    if "nterrupted()" not in loops[-1].over and not _is_interrupted_here(facts):
        return False
    scope = facts.function_of(tried)
    return any(
        _throws_interrupt(call, facts)
        and facts.function_of(call) is scope
        and facts.tries_around(call)[-1:] == (tried,)
        for call in facts.within(facts.calls, tried.body)
    )


def _is_interrupted_here(facts: Facts) -> bool:
    """Return whether this text interrupts threads."""
    return bool(facts.calls_of_method("shutdownNow")) or any(
        "currentThread" not in call.written for call in facts.calls_of_method("interrupt")
    )


def _throws_interrupt(call: Call, facts: Facts) -> bool:
    if _SLEEP.search(call.written):
        return True
    waits = call.method in _INTERRUPTED_WAITS or (call.method in _LIMITED_WAITS and len(call.arguments) > 1)
    return waits and _BLOCKING_TYPES.search(type_of_receiver(call, facts)) is not None


def goes_on_after_interrupt(tried: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether this text shows that the thread goes on with its work after the handler."""
    return (
        _stays_in_loop(handler, facts)
        or _is_in_loop_of_caller(handler, facts)
        or _waits_for_the_next(tried, handler, facts)
        or _works_on(tried, handler, facts)
    )


def _is_endless(loop: Loop, place: Placed, facts: Facts) -> bool:
    """Return whether only the flag, which the exception cleared, could end a loop around a place."""
    if "nterrupted()" in loop.over:
        return "&&" not in loop.over
    scope = facts.function_of(place)
    return loop.kind == "endless" and not any(
        step.kind in ("return", "break") and facts.function_of(step) is scope
        for step in facts.within(facts.steps, loop.body)
    )


def _stays_in_loop(handler: Handler, facts: Facts) -> bool:
    loops = () if handler.exits else facts.loops_around(handler)
    return bool(loops) and _is_endless(loops[-1], handler, facts)


def _is_in_loop_of_caller(handler: Handler, facts: Facts) -> bool:
    """Return whether a loop calls the function of the handler, and nothing but the flag would end it."""
    scope = facts.function_of(handler)
    if scope is None or scope.is_anonymous or facts.loops_around(handler):
        return False
    for call in facts.callers_of(scope):
        loops = facts.loops_around(call)
        if loops and call.is_discarded and _is_endless(loops[-1], call, facts):
            return True
    return False


def _waits_for_the_next(tried: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether a loop over items waits for the next of them without a limit."""
    scope = facts.named_function_of(handler)
    if handler.exits or (scope is not None and _ENDS.match(scope.short_name)):
        return False
    loops = facts.loops_around(handler)
    return bool(loops) and loops[-1].kind == "each" and _has_endless_wait(tried.body, facts)


def _has_endless_wait(span: Span, facts: Facts) -> bool:
    return any(_is_endless_wait(call) for call in facts.within(facts.calls, span))


def _is_endless_wait(call: Call) -> bool:
    return call.method in _ENDLESS_WAITS and bool(call.receiver_written) and not call.arguments


def _works_on(tried: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether the same work is done once more, another wait follows, or a success is returned."""
    scope = facts.function_of(handler)
    if scope is None:
        return False
    done = {call.method for call in facts.within(facts.calls, tried.body) if _is_work(call)}
    spans = [handler.body]
    if not handler.exits:
        rest = Span(tried.span.end, scope.body.end)
        if _SUCCESS.match(facts.text(rest)):
            return True
        spans.append(rest)
    follows = [
        call
        for span in spans
        for call in facts.within(facts.calls, span)
        if facts.function_of(call) is scope and not _is_in_other_arm(tried, call, facts)
    ]
    return any((_is_work(call) and call.method in done) or call.method == "waitFor" for call in follows)


def _is_in_other_arm(tried: Try, call: Call, facts: Facts) -> bool:
    return not is_within(call.span, tried.span) and facts.are_exclusive(tried, call)


def _is_work(call: Call) -> bool:
    """Return whether a call does the work itself: a method that is given a function may do any."""
    if is_logging(call) or call.constructs or _PLAIN.match(call.method):
        return False
    return not any(each.value.shape == "function" for each in call.arguments)


def _is_set_later(handler: Handler, facts: Facts) -> bool:
    """Return whether the flag is set again after the handler: `if (stopped) currentThread().interrupt()`."""
    scope = facts.function_of(handler)
    return scope is not None and any(
        call.method == "interrupt" and "currentThread" in call.written
        for call in facts.within(facts.calls, Span(handler.body.end, scope.body.end))
    )


def _is_remembered(handler: Handler, facts: Facts) -> bool:
    """Return whether a variable keeps the interrupt, so that the flag can be set again afterwards."""
    return any(
        "interrupt" in target.lower()
        for each in facts.within(facts.assignments, handler.body)
        for target in each.targets
    )
