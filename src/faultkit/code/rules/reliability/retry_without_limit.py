"""Finds retries that never give up.

A loop is shown if its function was given what it sends, so that a caller waits for it. A program that waits
for a dependency when it starts, or works in the background, has nothing else to do meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Place
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.stuck_counters import stuck_counters
from faultkit.code.rules.vocabulary.tried_work import is_awaited_by_caller, reconnects


def _check(facts: Facts) -> Iterator[Hit]:
    for retry in retries(facts):
        if retry.limited is False:
            is_awaited = (
                not reconnects(Place(retry.span), facts)
                if retry.loop is None
                else is_awaited_by_caller(retry, facts)
            )
            sure = LIKELY if is_awaited else POSSIBLE
            yield Hit(retry.place, "this retries without a limit of tries or time", sure)
    for place, what in stuck_counters(facts):
        yield Hit(place, what, LIKELY)
    yield from _tasks(facts)
    if facts.language in JAVASCRIPT:
        yield from _options(facts)
        yield from _interceptors(facts)
    if facts.language == "kotlin":
        yield from _of_kotlin(facts)
    for call in facts.calls_of_method("without_max_times") if facts.language == "rust" else ():
        yield Hit(Span(call.callee.end, call.span.end), f"{call.method}() retries for ever", LIKELY)
    for call in facts.calls_of_method("Retry") if facts.language == "python" else ():
        total = call.argument("total", place=0)
        counted = call.has("connect", "read", "status", "other")
        if "urllib3" in call.name and total is not None and total.value.shape == "none" and not counted:
            yield Hit(call.span, f"{call.written}(total=None) retries for ever", LIKELY)


_LIMITS = lazy_regex(r"(^|\.)(limit|retries|maxRetries|retryLimit|numOfAttempts|maxAttempts|attempts)$")


def _options(facts: Facts) -> Iterator[Hit]:
    """Yield options of clients and helpers that retry for ever: `retry: { limit: Infinity }`."""
    source = facts.syntax.source
    ends = [word for word in (b"Infinity", b"POSITIVE_INFINITY", b"forever") if word in source]
    for call in facts.calls if ends else ():
        if not any(source.find(word, *call.span) >= 0 for word in ends):
            continue
        about = "retry" in call.name.lower() or any("retry" in each.name for each in call.arguments)
        for each in call.arguments if about else ():
            endless = _LIMITS.search(each.name) and each.value.text in (
                "Infinity",
                "Number.POSITIVE_INFINITY",
            )
            if endless or (each.name.endswith("forever") and each.value.shape == "true"):
                yield Hit(each.value.span, f"{each.name} of {each.value.text} retries for ever", LIKELY)


_AGAIN = lazy_regex(
    r"\b\w+(?:\.request)?\(\s*(?:\{\s*\.\.\.)?(?:error|err|e)\.config\b|\b\w+(?:\.request)?\(\s*original\w*\s*\)"
)
_ONCE = lazy_regex(
    r"_?_?(?:is_?)?retr(?:y|ied|ies)|attempt|count|\btries\b|_?sent\b|refreshed|replayed|once", re.IGNORECASE
)


def _interceptors(facts: Facts) -> Iterator[Hit]:
    """Yield interceptors of axios that send a failed request again, as often as it fails."""
    for call in facts.calls_of_method("use"):
        if not call.receiver_written.endswith("interceptors.response"):
            continue
        for each in call.positional[1:]:
            found = _AGAIN.search(each.value.text)
            if found is not None and _ONCE.search(each.value.text) is None:
                what = "this sends the request again each time it fails, without a limit"
                yield Hit(facts.syntax.place_of(found, each.value.span.start), what, LIKELY)


def _of_kotlin(facts: Facts) -> Iterator[Hit]:
    """Yield retries of Ktor that have no limit."""
    for call in facts.calls_of_method(
        "retryIf", "retryOnException", "retryOnServerErrors", "retryOnExceptionOrServerErrors"
    ):
        limit = call.argument("maxRetries", place=0)
        if limit is not None and limit.value.text in ("Int.MAX_VALUE", "Integer.MAX_VALUE"):
            yield Hit(call.span, f"{call.written}() retries for ever", LIKELY)


def _tasks(facts: Facts) -> Iterator[Hit]:
    """Yield Celery tasks with `max_retries=None`."""
    if not facts.imports_any("celery"):
        return
    for decorator in (each for scope in facts.scopes for each in scope.decorators):
        limit = decorator.argument("max_retries")
        if decorator.method in ("task", "shared_task") and limit is not None and limit.value.shape == "none":
            yield Hit(decorator.span, "max_retries=None makes Celery retry this task for ever", CERTAIN)


RULE = Rule(
    id="FK-R007",
    slug="retry-without-limit",
    title="Retry without a limit",
    why="While a dependency is down, work piles up behind calls that never fail, and callers wait for ever.",
    fix="Stop after a number of tries or a deadline, and raise the last error.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
