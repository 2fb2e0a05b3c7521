"""Loops over pages, rows or lines that a failure ends as the end of the data does.

    while True:                                         while let Ok(Some(row)) = rows.try_next().await {
        try: page = fetch(cursor)                           out.write_all(line(&row)).await?;
        except HTTPError: log.warning("…"); break       }
        found += page.items

What was read so far is then taken for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Loop, Place, Try
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.dropped_failures import is_failure_of_work, only_logs_or_counts
from faultkit.code.rules.vocabulary.failures import has_comment
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_GATHERS = NamePattern(
    r"^(?:append|extend|push|add|addAll|Add|AddRange|push_back|concat|put|write\w*|Write\w*|yield|emit|insert\w*"
    r"|save\w*|upsert\w*|Fprint\w*|set|update|send\w*)$"
)
_CHANGES = NamePattern(
    r"^(?:send|write|flush|ping|publish|emit|put|ack|close|save|insert|update|delete|execute|exec|post|commit|push"
    r"|Send|Write|Flush|Ping|Publish|Put|Ack|Save|Insert|Update|Delete|Exec|Commit|Encode|encode)(?![a-z])"
)
"""Calls that do not ask for data."""
_RESULT = lazy_regex(r"->\s*[^{]*Result\b")


def breaks_on_failure(facts: Facts) -> Iterator[tuple[Handler, Call]]:
    """Yield handlers that end a loop which gathers data, with what failed; the function goes on after it."""
    # To look for what was asked takes longer than to see that nothing ends a loop.
    is_any = bool(facts.loops) and any(facts.steps_of("break"))
    for each in facts.tries if is_any else ():
        loops = facts.loops_around(each)
        if not loops or loops[-1].kind == "comprehension" or facts.handlers_around(each):
            continue
        ends = [handler for handler in each.handlers if _ends(handler, facts)]
        asked = _asked(each, facts) if ends else None
        for handler in ends if asked is not None else ():
            if asked is not None and _is_gathered(loops[-1], handler, facts):
                yield handler, asked
                break


_BAD_STATUS = lazy_regex(
    r"\bif\s*!?\s*\(?\s*(?:not\s+|!\s*)?\w+(?:\.\w+)*\.(?:ok|IsSuccessStatusCode|isSuccessful|is_success|is_error)\b(?:\(\))?\s*\)?"
    r"|\bif\s*\(?\s*\w+(?:\.\w+)*\.(?:status_code|statusCode|StatusCode|status)(?:\(\))?\s*(?:!==?|>=)\s*[\w.]+\s*\)?"
)


def breaks_on_status(facts: Facts) -> Iterator[Span]:
    """Yield `if (!res.ok) break;` in a loop that gathers pages: a refusal looks like the last page."""
    if not facts.loops or not facts.syntax.has_any(b"status", b".ok", b"success"):
        return
    if not facts.steps_of("break"):
        return
    for arm in facts.arms:
        loops = facts.loops_around(arm) if arm.leaves == "loop" else ()
        if arm.leaves != "loop" or arm.place != 0 or not loops or loops[-1].kind == "comprehension":
            continue
        head = facts.text(Span(arm.fork.start, arm.span.start)).strip("{: \n\t")
        steps = {step.kind for step in facts.within(facts.steps, arm.span)}
        if _BAD_STATUS.fullmatch(head) is None or "break" not in steps or "branch" in steps:
            continue
        if not only_logs_or_counts(arm.span, facts) or has_comment(facts.text(arm.span)):
            continue
        if "404" not in head and _is_used_behind(loops[-1], "", facts):
            yield arm.fork


_END = lazy_regex(
    r"(?:^|\.)(?:EOF\w*|End[oO]f\w+|StopIteration|StopAsyncIteration|KeyboardInterrupt|QueueEmpty|Empty)$"
)
"""Errors by which a source says that there is no more."""


def _ends(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler only logs and ends the loop."""
    kinds = [step.kind for step in facts.within(facts.steps, handler.body)]
    if kinds.count("break") != 1 or {"return", "raise", "continue"} & {*kinds} or handler.raises:
        return False
    return (
        is_failure_of_work(handler)
        and not any(map(_END.search, handler.types))
        and "branch" not in kinds
        and only_logs_or_counts(handler.body, facts)
        and any(map(is_logging, facts.within(facts.calls, handler.body)))
        and not has_comment(facts.text(handler.span))
    )


def _asked(each: Try, facts: Facts) -> Call | None:
    """Return what is asked for the next part of the data."""
    calls = [
        call
        for call in facts.within(facts.calls, each.body)
        if call.receiver_written and not is_logging(call) and not call.constructs
    ]
    if any(_CHANGES.match(call.method) for call in calls) or _ENDLESS_SOURCES.search(facts.text(each.body)):
        return None
    return next((call for call in calls if call.is_awaited or call.assigned or call.origin is None), None)


def _is_gathered(loop: Loop, handler: Handler, facts: Facts) -> bool:
    """Return whether a loop gathers what it reads for code behind it, which does not ask for the error."""
    return _is_used_behind(loop, handler.name, facts)


def _is_used_behind(loop: Loop, error: str, facts: Facts) -> bool:
    scope = facts.function_of(loop)
    if scope is None or any(each.kind == "endless" for each in facts.loops_around(loop)):
        return False  # A loop around it begins again.
    rest = facts.text(Span(loop.span.end, scope.body.end))
    if error and re.search(rf"\b{re.escape(error)}\b", rest):
        return False
    if any(step.kind == "yield" for step in facts.within(facts.steps, loop.body)):
        return True
    return not _gathered(loop, facts).isdisjoint(re.findall(r"\w+", rest))


def _gathered(loop: Loop, facts: Facts) -> set[str]:
    """Return the variables that a loop adds to: lists, sums and writers."""
    found = set[str]()
    for each in facts.within(facts.assignments, loop.body):
        appends = each.call is not None and each.call.name == "append"
        if each.operator == "+=" or appends:
            found.update(_root(name) for name in each.targets)
    for call in facts.within(facts.calls, loop.body):
        if _GATHERS.match(call.method):
            found.add(_root(call.receiver_written))
            found.update(each.value.text for each in call.positional[:1] if "Fprint" in call.method)
    return found - {""}


def _root(name: str) -> str:
    return re.sub(r"^(?:self|this)\.", "", name).partition(".")[0].partition("[")[0].partition("(")[0]


# Rust: patterns that take an error for the end.

_FIRST_ONLY = lazy_regex(r"let\s+(?:Ok\s*\(\s*Some\s*\(|Some\s*\(\s*Ok\s*\()")
_ENDLESS_SOURCES = lazy_regex(
    r"\bws\b|socket|\bconn|\brx\b|receiver|incoming|listener|accept\(|stdout|stderr|stdin|signal|recv\(|websocket"
    r"|ws_|subscri|\bevents?\b|child|heartbeat",
    re.IGNORECASE,
)
"""Sources that have no whole: they end when the peer goes."""
_ELSE = lazy_regex(
    r"let\s+(?:Ok\s*\(\s*Some|Some\s*\(\s*Ok)\s*\([^;{}]*?=\s*([^;{}]*?)\s*else\s*\{\s*break;?\s*\}"
)
_FLATTENED = lazy_regex(
    r"\.(?:lines|records|into_records|deserialize(?:::<[^>]*>)?|into_deserialize(?:::<[^>]*>)?|query_map|query_and_then"
    r"|fetch|query_raw|bytes_stream|into_stream|rows_stream|stream)"
    r"\((?:[^()]|\([^()]*\))*\)(?:\s*\.await)?\s*\??\s*\.(?:flatten\(\)|(?:filter_map|flat_map|map_while)\(\s*"
    r"(?:Result::ok|(?:async\s+)?(?:move\s+)?\|\w+\|\s*(?:async\s+(?:move\s+)?\{\s*)?(?:(?:\w+::)*ready\()?\s*"
    r"\w+\.ok\(\)[\s})]*)\s*\))"
)
_FLATTENS = (b"flatten", b"filter_map", b"map_while")


def errors_that_end_loops(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield loops of Rust whose pattern ends them at the first error, in a function that can return one."""
    for loop in facts.loops:
        if loop.kind != "while" or _FIRST_ONLY.match(loop.over) is None:
            continue
        source = loop.over.partition("=")[2]
        if not _ENDLESS_SOURCES.search(source) and _can_fail(loop, facts):
            yield loop.head, "this loop ends at the first error as at the end of the data"
    text = facts.whole_text
    for found in _ELSE.finditer(text) if "else" in text else ():
        span = facts.syntax.place_of(found)
        if not _ENDLESS_SOURCES.search(found[1]) and _can_fail(Place(span), facts):
            yield span, "this loop ends at the first error as at the end of the data"
    for found in _FLATTENED.finditer(text) if facts.syntax.has_any(*_FLATTENS) else ():
        span = facts.syntax.place_of(found)
        if not re.search(r"stdin|stdout|stderr", found[0]) and _can_fail(Place(span), facts):
            yield span, "what could not be read is left out, and nothing says so"


def _can_fail(place: Loop | Place, facts: Facts) -> bool:
    """Return whether the function around a place returns a result, by which an error could go up."""
    scope = facts.named_function_of(place)
    return scope is not None and _RESULT.search(facts.text(scope.head)) is not None
