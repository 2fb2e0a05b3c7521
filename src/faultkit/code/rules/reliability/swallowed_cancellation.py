"""Finds handlers that catch a cancellation and continue.

Evidence that it matters: a loop around the handler, here or where its function is called, goes on after the
cancellation. Where nothing follows the handler, little is lost. Java: see `vocabulary/lost_interrupts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Try
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.lost_interrupts import (
    goes_on_after_interrupt,
    is_interrupt_caught_with_all,
    is_interrupt_lost,
)
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.waits import is_in_coroutine

_CANCELLED = frozenset(
    {"asyncio.CancelledError", "CancelledError", "concurrent.futures.CancelledError", "trio.Cancelled"}
)
_BASE = frozenset({"BaseException", "builtins.BaseException"})


_KOTLIN = frozenset({"Exception", "Throwable", "java.lang.Exception", "java.lang.Throwable"})
_SUSPENDS = frozenset(
    ("delay", "await", "awaitAll", "withContext", "withTimeout", "join", "receive", "collect", "emit", "send",
     "coroutineScope", "yield")
)  # fmt: skip

_SUSPENDED = TextPattern(r"\bsuspend\s+fun\s+(?:<[^>]*>\s*)?(?:[\w<>]+\.)?(\w+)")


def _kotlin(facts: Facts) -> Iterator[Hit]:
    """Yield broad handlers around what is suspended, which end a cancellation (Kotlin)."""
    # Also methods of interfaces, which have no body.
    own = {*_SUSPENDED.findall(facts.whole_text)}
    owners = {"", "self", *(name.rpartition(".")[2] for name in facts.classes)}
    for each in facts.tries:
        scope = facts.named_function_of(each)
        suspends = scope is not None and scope.is_async
        # A launched block that ends after its handler needs no cancellation; one with a loop goes on.
        goes_on = any(loop.kind in ("endless", "while") for loop in facts.loops_around(each))
        if not suspends and not (goes_on and is_in_coroutine(each, facts)):
            continue
        waits = [
            call
            for call in facts.within(facts.calls, each.body)
            if call.method in _SUSPENDS or (call.method in own and call.receiver in owners)
        ]
        for handler in each.handlers:
            if any("Cancellation" in name for name in handler.types):
                break
            if not waits or not {*handler.types} & _KOTLIN or handler.raises:
                continue
            if not re.search(r"Cancellation|ensureActive|isActive", facts.text(handler.body)):
                what = "this also catches cancellations, and does not throw them again"
                confidence = POSSIBLE if handler.exits else _confidence(each, facts)
                yield Hit(handler.head, what, confidence, "medium")


def _caught_results(facts: Facts) -> Iterator[Hit]:
    """Yield `runCatching { … }` around what is suspended, which also catches the cancellation (Kotlin)."""
    own = {*_SUSPENDED.findall(facts.whole_text)}
    for call in facts.calls_of_method("runCatching"):
        scope = facts.named_function_of(call)
        suspends = scope is not None and scope.is_async
        loops = [loop for loop in facts.loops_around(call, across=True) if loop.kind in ("endless", "while")]
        if not suspends and not (loops and is_in_coroutine(call, facts)):
            continue
        waits = any(
            each.method in _SUSPENDS or each.method in own
            for each in facts.within(facts.calls, call.span)
            if each is not call
        )
        around = loops[-1].body if loops else (scope.body if scope is not None else call.span)
        if waits and not re.search(
            r"Cancellation|ensureActive|isActive|getOrThrow|throwOnFailure", facts.text(around)
        ):
            what = "runCatching() also catches cancellations, and does not throw them again"
            # Where nothing is repeated, what follows is short, and often the end that must be done.
            goes_on = _is_repeated(call, facts) and not _is_at_end(call, facts)
            confidence = LIKELY if goes_on else POSSIBLE
            yield Hit(call.span, what, confidence, "medium")


_ENDS = lazy_regex(r"close|stop|shutdown|dispose|release|cancel", re.IGNORECASE)


def _is_at_end(call: Call, facts: Facts) -> bool:
    """Return whether a `runCatching` is part of an end: of a function that ends something, or after an error
    that is thrown again."""
    scope = facts.named_function_of(call)
    if scope is not None and _ENDS.search(scope.short_name):
        return True
    return any(each.raises for each in facts.handlers_around(call))


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "kotlin":
        yield from _kotlin(facts)
        yield from _caught_results(facts)
        return
    for each in facts.tries:
        scope = facts.function_of(each)
        is_async = scope is not None and scope.is_async
        earlier: set[str] = set()
        for handler in each.handlers:
            if facts.language == "java":
                if is_interrupt_lost(handler, facts):
                    what = "InterruptedException is caught and the thread's flag is not set again"
                    goes_on = goes_on_after_interrupt(each, handler, facts)
                    severity: Severity | None = None if facts.loops_around(handler) else "medium"
                    yield Hit(handler.head, what, CERTAIN if goes_on else POSSIBLE, severity)
                elif is_interrupt_caught_with_all(each, handler, facts):
                    what = "this also catches the interrupt that should end the loop, and the loop goes on"
                    yield Hit(handler.head, what, LIKELY)
                continue
            if handler.raises or not is_async or earlier & _CANCELLED:
                continue
            if (
                {*handler.types} & _CANCELLED
                and not _awaits_cancelled(each.body, facts)
                and not handler.exits
                and "CancelledError" not in facts.text(handler.body)
                and not _ends_worker(each, scope, facts)
            ):
                what = "the cancellation is caught here and ends here"
                yield Hit(handler.head, what, _confidence(each, facts))
            elif (
                (not handler.types or {*handler.types} & _BASE)
                and not handler.uses_error
                and _awaits(each.body, facts)
                and not _awaits_cancelled(each.body, facts)
            ):
                what = "this also catches cancellations, and does not raise them again"
                yield Hit(handler.head, what, _confidence(each, facts))
            earlier |= {*handler.types}


def _confidence(place: Try, facts: Facts) -> float:
    """Return how sure a finding is: something must go on after the handler that should have ended."""
    return LIKELY if _is_repeated(place, facts) else POSSIBLE


def _is_repeated(place: Placed, facts: Facts, levels: int = 2) -> bool:
    """Return whether a loop is around a place, or around a call of its function in this text."""
    if facts.loops_around(place, across=True):
        return True
    scope = facts.named_function_of(place)
    if scope is None or levels == 0:
        return False
    return any(_is_repeated(call, facts, levels - 1) for call in facts.callers_of(scope))


def _ends_worker(each: Try, scope: Scope | None, facts: Facts) -> bool:
    """Return whether a function ends after a handler around its endless loop, as if it returned there."""
    if scope is None or facts.loops_around(each):
        return False
    if facts.text(Span(each.span.end, scope.body.end)).strip():
        return False
    return any(loop.kind in ("endless", "while") for loop in facts.within(facts.loops, each.body))


def _awaits(body: Span, facts: Facts) -> bool:
    return any(step.kind == "await" for step in facts.within(facts.steps, body))


def _awaits_cancelled(body: Span, facts: Facts) -> bool:
    """Return whether it awaits a task that was cancelled on purpose."""
    scope = next(
        (each for each in facts.scopes if each.body.start <= body.start and body.end <= each.body.end), None
    )
    inside = facts.calls if scope is None else tuple(facts.within(facts.calls, scope.body))
    return any(call.method == "cancel" and call.span.start < body.end for call in inside)


RULE = Rule(
    id="FK-R028",
    slug="swallowed-cancellation",
    title="Cancellation swallowed",
    why="Timeouts and shutdowns work by cancellation: code that swallows it cannot be stopped and holds up "
    "the whole process.",
    fix="Clean up and raise it again (Java: Thread.currentThread().interrupt()).",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVA, *KOTLIN),
    check=_check,
)
