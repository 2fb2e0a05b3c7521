"""Work that must be done at the end of a function, with a context or token that may be cancelled by then.

`defer s.locks.Release(ctx, key)`: when the client has gone, ctx is cancelled, and nothing is released. A
rollback or close with such a context is no loss: drivers drop the connection then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Try, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_MUST = NamePattern(
    r"^(?i:release\w*|unlock\w*|del|delete\w*|remove\w*|audit\w*|record\w*|refund\w*|compensate\w*|undo\w*|free\w*"
    r"|giveback\w*|restore\w*|decr\w*|mark\w*|unreserve\w*|finish\w*|complete\w*|save\w*|persist\w*|settle\w*|fail\w*)$"
)
_DETACHED = lazy_regex(r"context\.(?:Background|TODO|WithoutCancel)\b|NonCancellable")
_BESIDE = NamePattern(
    r"(?:^|[._])(?:log|slog|tr|wg|t|b|require|assert)$|(?:Log|[lL]ogger|[mM]etrics?|[sS]pan|[tT]racer|[sS]tats|[tT]imer)$"
)
_WRITES = lazy_regex(r"\b(?:insert\s+into|update\s+\w+\s+set|delete\s+from)\b", re.IGNORECASE)
_FILTER = lazy_regex(r"when\s*\(\s*!")
_OWN_LIMIT = lazy_regex(
    r"CreateLinkedTokenSource|CancelAfter|new CancellationTokenSource\(|WaitAsync\(\s*TimeSpan"
)
"""A limit of time by which work is cancelled while the token of the caller is alive (C#)."""


def cleanup_by_cancelled(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield calls at the end of a function that do nothing if the caller has gone, with what goes wrong."""
    if facts.language == "go":
        yield from _deferred(facts)
    elif facts.language == "csharp":
        yield from _caught(facts)


def _deferred(facts: Facts) -> Iterator[tuple[Span, str]]:
    if b"defer" not in facts.syntax.source:
        return
    for call in facts.calls:
        if not (call.is_deferred or facts.is_deferred(call)) or call.written.startswith("func"):
            continue
        first = call.argument(place=0)
        if first is None or "." not in call.written or len(call.positional) < 2:
            continue
        outer = next(facts.functions_around(call), None)
        if outer is None or not _is_of_caller(first.value.text, call, outer, facts):
            continue
        if _BESIDE.search(call.receiver_written) or not _must_be_done(call, facts):
            continue
        around = facts.function_of(call)
        text = facts.text(around.body) if around is not None and around is not outer else ""
        if not _DETACHED.search(text):
            what = f"{call.written}() does nothing if the caller has gone by then: its context is cancelled"
            yield call.span, what


def _is_of_caller(text: str, call: Call, outer: Scope, facts: Facts) -> bool:
    """Return whether a context is that of the caller or the request, and not one that outlives it."""
    for each in outer.parameters:
        if each.type == "net/http.Request" and text == f"{each.name}.Context()":
            return True
        if each.type != "context.Context" or text != each.name:
            continue
        again = facts.assignments_to(text, call)
        return not any(one.value is not None and _DETACHED.search(one.value.text) for one in again)
    made = [one for one in facts.assignments_to(text, call) if one.value is not None and one.scope is outer]
    return bool(made) and all(
        one.value is not None and re.match(r"\w+\.Context\(\)$", one.value.text) for one in made
    )


def _must_be_done(call: Call, facts: Facts) -> bool:
    """Return whether a call gives something back or writes something down, and keeps to its context."""
    own = [scope for scope in facts.functions_named(call.method) if call in facts.callers_of(scope)]
    if own:
        text = facts.text(own[0].body)
        return not _DETACHED.search(text) and (
            _MUST.match(call.method) is not None or _WRITES.search(text) is not None
        )
    return _MUST.match(call.method) is not None


def _caught(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield what a handler of the cancellation awaits with the token that was cancelled (C#)."""
    for each in facts.tries:
        for handler in each.handlers:
            # HttpClient throws TaskCanceledException, which is one of the other, at its own timeout.
            if "OperationCanceledException" not in {name.rpartition(".")[2] for name in handler.types}:
                continue
            if _FILTER.search(facts.text(handler.head)) or _may_be_timeout(each, facts):
                continue
            for call in facts.within(facts.calls, handler.body):
                scope = facts.function_of(call)
                tokens = (
                    set[str]()
                    if scope is None
                    else {one.name for one in scope.parameters if one.type.endswith("CancellationToken")}
                )
                if call.is_awaited and tokens & {one.value.text for one in call.arguments}:
                    what = (
                        f"{call.written}() is given the token that has just been cancelled: it does nothing"
                    )
                    yield call.span, what
                    break


def _may_be_timeout(each: Try, facts: Facts) -> bool:
    """Return whether what is tried may be cancelled by a limit of its own instead of by the caller."""
    if any(is_within(request.call.span, each.body) for request in http_requests(facts)):
        return True
    scope = facts.named_function_of(each)
    return scope is not None and _OWN_LIMIT.search(facts.text(scope.body)) is not None
