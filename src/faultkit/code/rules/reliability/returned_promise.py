"""Finds promises and tasks that leave a try or a using block before they have ended.

Evidence that it matters: the catch has nothing else that it could have been written for.

try {
    return this.index(event);      the catch sees errors before the promise was made, and none of its own
} catch (err) {
    await this.park(event);
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.rejections import handles_all

_CATCHES = lazy_regex(r"\.(catch|then)$")
_LOGS = lazy_regex(r"^Log[A-Z]")
"""Methods that the generator of loggers makes (C#)."""
_ASYNC = lazy_regex(r"\w(Async)$")
_COMPLETED = lazy_regex(r"^(Task\.(FromResult|CompletedTask|FromException|FromCanceled)|ValueTask)")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "csharp":
        yield from _tasks(facts)
        return
    awaited = {call.written for call in facts.calls if call.is_awaited}
    for tried in facts.tries:
        for step in facts.within(facts.steps, tried.body):
            if step.kind != "return":
                continue
            call = _returned(step.span, facts)
            scope = facts.function_of(step)
            if call is None or call.is_awaited or scope is not facts.function_of(tried):
                continue
            if scope is None or not _makes_promise(call, scope, awaited, facts):
                continue
            if tried.handlers and (_handles_alike(call, tried, facts) or _is_not_for(call, tried, facts)):
                continue
            if tried.handlers and not _only_throws(tried, facts):
                what = f"the catch does not see a rejection of {call.written}(): it is not awaited here"
                yield Hit(step.span, what, POSSIBLE if _awaits_others(tried, facts) else LIKELY)
            elif tried.finally_ is not None and scope.is_async and _releases(tried, facts):
                what = f"the finally block runs before {call.written}() has ended: it is not awaited here"
                yield Hit(step.span, what, LIKELY)


def _awaits_others(tried: Try, facts: Facts) -> bool:
    """Return whether a try awaits something else, which its catch may be meant for.

    A try with which the function begins or ends is meant for all of it."""
    scope = facts.function_of(tried)
    if scope is None:
        return False
    before = facts.text(Span(scope.body.start, tried.span.start)).strip(" \t\r\n{")
    after = facts.text(Span(tried.span.end, scope.body.end)).strip(" \t\r\n;}")
    if not before or not after:
        return False
    return any(
        step.kind == "await" and facts.function_of(step) is scope
        for step in facts.within(facts.steps, tried.body)
    )


def _returned(span: Span, facts: Facts) -> Call | None:
    """Return the call that is all that a return statement returns."""
    start = facts.text(span).find("return") + len("return")
    for call in facts.within(facts.calls, span):
        between = facts.text(Span(span.start + start, call.span.start)) if start >= 6 else "-"
        after = facts.text(Span(call.span.end, span.end))
        if not between.strip("( \n\t") and not re.sub(r"[);\s]|\bas\b.*", "", after):
            return call
    return None


def _makes_promise(call: Call, scope: Scope, awaited: set[str], facts: Facts) -> bool:
    """Return whether a call gives a promise: of an async function of this text, of a request, or of what is
    awaited elsewhere."""
    if _CATCHES.search(call.name) or call.constructs or not scope.is_async:
        return False
    if call.receiver in ("", "self") and (own := facts.functions_named(call.method)):
        return all(each.is_async for each in own) and not any(handles_all(each, facts) for each in own)
    if library_of(call, facts.language) is not None:
        return True
    return call.written in awaited


def _handles_alike(call: Call, tried: Try, facts: Facts) -> bool:
    """Return whether the function that is called has the same handlers, or is the function itself."""
    mine = [" ".join(facts.text(each.body).split()) for each in tried.handlers]
    return any(
        [" ".join(facts.text(one.body).split()) for one in each.handlers] == mine
        for scope in facts.functions_named(call.method)
        for each in facts.within(facts.tries, scope.body)
    )


_RETHROWN = lazy_regex(r"\bif\s*\(([^{}]*?\b([A-Z]\w*Error)\b[^{}]*?)\)\s*\{?\s*throw\s+\w+\s*[;}\n]")


def _is_not_for(call: Call, tried: Try, facts: Facts) -> bool:
    """Return whether handlers are not for a call's errors: they make it again, or pass on what it throws."""
    if any(
        each.written == call.written for one in tried.handlers for each in facts.within(facts.calls, one.body)
    ):
        return True
    passed = {found[2] for one in tried.handlers for found in _RETHROWN.finditer(facts.text(one.body))}
    return any(
        re.search(rf"\bthrow\s+new\s+[\w.]*\b{name}\b", facts.text(scope.body))
        for name in passed
        for scope in facts.functions_named(call.method)
    )


def _only_throws(tried: Try, facts: Facts) -> bool:
    """Return whether the handlers do nothing but log and throw the same error, so that little is lost."""
    return all(
        re.search(r"(?:^|[;{}\n])\s*throw(?:\s+\w+)?;?\s*\}?$", facts.text(each.body).strip())
        and all(is_logging(call) or _LOGS.match(call.method) for call in facts.within(facts.calls, each.body))
        and all(arm.span == each.body for arm in facts.within(facts.arms, each.body))
        for each in tried.handlers
    )


def _releases(tried: Try, facts: Facts) -> bool:
    return tried.finally_ is not None and any(True for _ in facts.within(facts.calls, tried.finally_))


_READ_AT_ONCE = r"\b{}\s*\.\s*(?:ToArray|ToString|GetBuffer|Length|Count|Id|Name)\b"


def _is_used_later(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a task works with an object itself, not with a copy that was made before."""
    text = re.sub(_READ_AT_ONCE.format(re.escape(name)), "", facts.text(call.span))
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _makes_failed_task(tried: Try, facts: Facts) -> bool:
    """Return whether handlers return a task that has failed, as the returned one would have (C#)."""
    return all(
        re.search(r"\bTask\.From(Exception|Canceled)\b", facts.text(each.body)) for each in tried.handlers
    )


def _has_handlers(scope: Scope, facts: Facts) -> bool:
    """Return whether all that a function awaits stands in a try with handlers of its own, or in these."""
    tries = [each for each in facts.within(facts.tries, scope.body) if each.handlers]
    outer = [each for each in tries if not any(is_within(each.span, one.body) for one in tries)]
    awaited = len(_AWAIT.findall(facts.text(scope.body)))
    return awaited > 0 and awaited == sum(len(_AWAIT.findall(facts.text(each.span))) for each in outer)


_AWAIT = lazy_regex(r"\bawait\b")


# C#: a method without `async` that returns a task from inside a using or a try.


def _tasks(facts: Facts) -> Iterator[Hit]:
    for step in facts.steps:
        if step.kind != "return":
            continue
        scope = facts.function_of(step)
        if scope is None or scope.is_async or scope.is_anonymous:
            continue
        call = _returned(step.span, facts)
        if call is None or not _ASYNC.search(call.method) or _COMPLETED.match(call.written):
            continue
        held = [each for each, body in facts.managed if is_within(step.span, body)]
        # What is disposed of matters to what the task works with.
        names = {name for each in held for name in each.assigned}
        used = [name for name in names if _is_used_later(name, call, facts)]
        if used and any(facts.function_of(each) is scope for each in held):
            what = f"{used[0]} is disposed of before {call.written}() has ended: it is not awaited here"
            yield Hit(step.span, what, LIKELY)
            continue
        tries = [each for each in facts.tries_around(step) if is_within(each.span, scope.body)]
        if any(_has_handlers(each, facts) for each in facts.functions_named(call.method)):
            continue
        if not tries or _is_not_for(call, tries[-1], facts):
            continue
        if not _only_throws(tries[-1], facts) and not _makes_failed_task(tries[-1], facts):
            what = f"the catch does not see an error of {call.written}(): it is not awaited here"
            yield Hit(step.span, what, LIKELY)


RULE = Rule(
    id="FK-R170",
    slug="promise-leaves-try",
    title="Promise that is returned from a try without await",
    why="The block ends before the work does: its catch never sees the failure, and its finally releases "
    "what the work still uses.",
    fix="Write return await, in an async function.",
    kind="reliability",
    severity="medium",
    languages=(*JAVASCRIPT, *CSHARP),
    check=_check,
    words=(b"try", b"using"),
)
