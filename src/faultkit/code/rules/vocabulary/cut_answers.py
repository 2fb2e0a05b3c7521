"""Answers that are sent piece by piece and end as if they were whole, although what fills them has failed.

The status was sent with the first piece. A handler that only logs, or ends the answer, leaves the client with
a part that it takes for all; to break the connection off is what says that something is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.failures import has_comment, is_count_or_report

_PIECES = {
    "javascript": lazy_regex(r"^(?:res|response|reply\.raw|ctx\.res)\.write$"),
    "csharp": lazy_regex(r"(?:^|\.)Response\.(?:Body\.|BodyWriter\.)?Write(?:Line)?Async$"),
}
_WORDS = {
    "python": (b"streamingresponse", b"streaminghttpresponse", b"stream_with_context", b"streamresponse"),
    "javascript": (b".write(",),
    "csharp": (b"response.",),
    "kotlin": (b"respondtextwriter", b"respondoutputstream", b"respondbyteswriter"),
    "go": (b"responsewriter",),
}
_BREAKS = lazy_regex(
    r"destroy|[aA]bort|\.close\(|panic\(|ErrAbortHandler|Hijack|[tT]railer|cancel\(|terminate|headersSent|HasStarted"
    r"|written|truncated|incomplete|status|Status|http\.Error|error\"|'error|yield"
)
_EVENTS = (b"event-stream", b"text/x-ndjson", b"websocket")
"""Streams of events, which have no whole."""
_GONE = lazy_regex(
    r"Cancel|GeneratorExit|Disconnect|ClientAbort|BrokenPipe|IOException|ConnectionReset|EofException|Interrupted|Closed"
)
_WRITERS = ("respondTextWriter", "respondOutputStream", "respondBytesWriter")


def cut_answers(facts: Facts) -> Iterator[Span]:
    """Yield handlers that let an answer end as if it were whole."""
    family = facts.syntax.language.family
    if not facts.syntax.has_any(*_WORDS.get(family, ())) or facts.syntax.has_any(*_EVENTS):
        return
    if family == "go":
        yield from _go(facts)
        return
    if family == "javascript":
        yield from _in_events(facts)
    for each in facts.tries:
        scope = facts.function_of(each)
        if scope is None or not _sends_pieces(each, scope, facts):
            continue
        for handler in each.handlers:
            if not handler.raises and _only_ends(handler, facts):
                yield handler.span
                break


def _sends_pieces(each: Try, scope: Scope, facts: Facts) -> bool:
    """Return whether a try sends an answer in a loop."""
    if facts.language == "python":
        yields = [step for step in facts.within(facts.steps, each.body) if step.kind == "yield"]
        return any(map(facts.loops_around, yields)) and _is_streamed(scope, facts)
    if facts.language == "kotlin":
        is_body = any(call.method in _WRITERS for call in facts.calls_around(each))
        return is_body and any(is_within(loop.span, each.body) for loop in facts.loops)
    pieces = _PIECES.get(facts.syntax.language.family)
    return pieces is not None and any(
        pieces.search(call.written)
        and any(is_within(loop.span, each.body) for loop in facts.loops_around(call))
        for call in facts.within(facts.calls, each.body)
    )


_STREAMS = lazy_regex(r"(?:^|\.)(?:StreamingResponse|StreamingHttpResponse|stream_with_context|Response)$")


def _is_streamed(scope: Scope, facts: Facts) -> bool:
    """Return whether a generator is given to an answer (Python)."""
    return any(
        _STREAMS.search(around.name)
        for call in facts.callers_of(scope)
        for around in facts.calls_around(call)
    )


def _only_ends(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler logs, and at most ends or flushes the answer."""
    text = facts.text(handler.body)
    if any(map(_GONE.search, handler.types)) or has_comment(facts.text(handler.span)):
        return False
    calls = list(facts.within(facts.calls, handler.body))
    logs = [call for call in calls if is_logging(call) or is_count_or_report(call)]
    for call in logs:
        text = text.replace(facts.text(call.span), "")
    others = [call for call in calls if not any(is_within(call.span, log.span) for log in logs)]
    is_plain = all(call.method in ("end", "flush", "Flush", "FlushAsync", "CompleteAsync") for call in others)
    return bool(logs) and is_plain and _BREAKS.search(text) is None


def _in_events(facts: Facts) -> Iterator[Span]:
    """Yield `rows.on("error", (err) => { log.error(err); res.end(); })` (Node)."""
    for call in facts.calls_of_method("on", "once"):
        if len(call.positional) != 2 or call.positional[0].value.literal != "error":
            continue
        given, around = call.positional[1].value, facts.function_of(call)
        inner = facts.function_at(given.span) if given.shape == "function" else None
        if inner is None or around is None or _BREAKS.search(facts.text(inner.body)):
            continue
        calls = list(facts.within(facts.calls, inner.body))
        ends = [each.receiver_written for each in calls if each.method == "end" and not each.arguments]
        begun = any(
            each.method == "write" and each.receiver_written in ends
            for each in facts.within(facts.calls, around.body)
        )
        if ends and begun and all(each.method == "end" or is_logging(each) for each in calls):
            yield given.span


# Go: rows that are copied to the client.

_ROWS = lazy_regex(r"^(?:Query|QueryContext|Queryx|QueryxContext|Find|Aggregate|QueryRows|Rows)$")


def _go(facts: Facts) -> Iterator[Span]:
    for each in facts.tries:
        scope = facts.function_of(each)
        writer = "" if scope is None else _writer_of(scope)
        if scope is None or not writer or writer == "_":
            continue
        if "ErrAbortHandler" in facts.whole_text or not _reads_rows(each, scope, writer, facts):
            continue
        for handler in each.handlers:
            if _only_ends(handler, facts) and not any(
                step.kind == "return" and step.text.strip()
                for step in facts.within(facts.steps, handler.body)
            ):
                yield handler.span


def _writer_of(scope: Scope) -> str:
    return next((each.name for each in scope.parameters if each.type == "net/http.ResponseWriter"), "")


def _reads_rows(each: Try, scope: Scope, writer: str, facts: Facts) -> bool:
    """Return whether a statement reads rows after the answer was begun: `rows.Err()`, `copy(rows, out)`."""
    rows = {
        name
        for one in facts.own(facts.assignments, scope)
        if one.call is not None and _ROWS.match(one.call.method)
        for name in one.targets[:1]
    }
    if not rows:
        return False
    outs = {writer} | {
        one.targets[0]
        for one in facts.own(facts.assignments, scope)
        if one.targets and one.value is not None and re.search(rf"\({writer}\)", one.value.text)
    }
    for call in facts.within(facts.calls, each.body):
        given = {argument.value.text for argument in call.arguments}
        if call.receiver_written in rows and call.method == "Err":
            return any(
                _writes_to(outs, loop.body, facts) for loop in facts.loops if _is_before(loop.span, call)
            )
        if given & rows and given & outs:
            return True
    return False


def _is_before(span: Span, call: Call) -> bool:
    return span.end <= call.span.start


def _writes_to(outs: set[str], body: Span, facts: Facts) -> bool:
    return any(
        call.receiver_written in outs or any(each.value.text in outs for each in call.positional[:1])
        for call in facts.within(facts.calls, body)
    )
