"""Finds time limits that end when the headers of an answer have come, so that its body has none.

const timer = setTimeout(() => controller.abort(), 5000);
try { res = await fetch(url, { signal: controller.signal }); } finally { clearTimeout(timer); }
return res.json();
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Try, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVASCRIPT, LIKELY, RUST, Hit, Rule

_READS = frozenset(("json", "text", "arrayBuffer", "blob", "formData", "bytes", "buffer"))
_OTHER_LIMITS = lazy_regex(r"AbortSignal\.(timeout|any)\b|Promise\.race\b|\b\w*[tT]imeout\w*\.refresh\(")
_FETCHES = lazy_regex(r"(^|[.~/_])fetch\w*$|\bfetch$", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "rust":
        yield from _rust(facts)
    elif facts.language == "csharp":
        yield from _csharp(facts)
    elif facts.language == "go":
        yield from _go(facts)
    else:
        for call in facts.calls_named("AbortController"):
            yield from _javascript(call, facts)


# JavaScript: a timer that aborts, and is cleared.


@dataclass(frozen=True, slots=True)
class _Limited:
    """A request that a timer may abort."""

    request: Call
    clear: Call
    scope: Scope
    names: frozenset[str]
    """Variables that hold the answer."""


def _javascript(made: Call, facts: Facts) -> Iterator[Hit]:
    scope = facts.function_of(made)
    if scope is None or len(made.assigned) != 1:
        return
    name = made.assigned[0]
    inside = tuple(facts.within(facts.calls, scope.body))
    aborts = re.compile(rf"(?<![\w.]){re.escape(name)}\.abort\b")
    starts = [call for call in inside if call.method == "setTimeout" and aborts.search(facts.text(call.span))]
    timers = {each for call in starts for each in call.assigned}
    # A timer that is started again limits what comes next.
    if len(starts) != 1 or not timers or _OTHER_LIMITS.search(facts.text(scope.body)):
        return
    request = _request_with(name, starts[0], scope, facts)
    if request is None:
        return
    names = frozenset(_names_of(request, scope, facts))
    for clear in inside:
        given = clear.argument(place=0)
        if clear.method != "clearTimeout" or given is None or given.value.text not in timers:
            continue
        use = _use_after(_Limited(request, clear, scope, names), facts)
        if use:
            what = f"{facts.text(clear.span)} ends the time limit before {use}: that may wait without end"
            yield Hit(clear.span, what, LIKELY)
            return


def _request_with(name: str, timer: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the innermost call that is given the signal of a controller."""
    signals = rf"\b{re.escape(name)}\.signal\b|\bsignal\s*:\s*{re.escape(name)}\b"
    held = [
        word
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None
        and each.call is None
        and (re.search(signals, each.value.text) or (each.value.text == name and "signal" in each.targets[0]))
        for target in each.targets
        for word in re.findall(r"[\w$]+", target.partition(".")[0])
    ]
    words = "|".join([signals, *(rf"(?<![\w.]){re.escape(each)}\b(?!\.)" for each in held)])
    found = [
        call
        for call in facts.within(facts.calls, scope.body)
        if not is_within(call.span, timer.span)
        and call.method not in ("addEventListener", "removeEventListener")
        and re.search(words, facts.text(Span(call.callee.end, call.span.end)))
    ]
    return min(found, key=lambda call: call.span.end - call.callee.end, default=None)


def _names_of(request: Call, scope: Scope, facts: Facts) -> Iterator[str]:
    """Yield the variables that hold the answer: of an assignment, or of a function given to `then`."""
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and is_within(request.span, each.value.span):
            held = facts.text(Span(each.value.span.start, request.span.start))
            # `const body = await read(await fetch(…))` does not hold the answer itself.
            if re.fullmatch(r"[\s(]*(await\b[\s(]*)*", held) and facts.function_of(each) is facts.function_of(
                request
            ):
                yield from (name for target in each.targets for name in _held_in(target))
    for call in facts.within(facts.calls, scope.body):
        given = call.argument(place=0) if call.method == "then" else None
        if given is None or not is_within(request.span, call.callee):
            continue
        function = facts.function_at(given.value.span)
        if function is not None and function.parameters:
            yield function.parameters[0].name


def _held_in(target: str) -> Iterator[str]:
    """Yield the answer, or the body that is taken out of it: `{ statusCode, body }`."""
    if not target.startswith("{"):
        yield target
    elif found := re.search(r"\bbody\b(?:\s*:\s*(\w+))?", target):
        yield found[1] or "body"


def _use_after(limited: _Limited, facts: Facts) -> str:
    """Return what reads the body after the timer has been cleared; empty if nothing does."""
    request, clear, scope = limited.request, limited.clear, limited.scope
    tried = next(
        (
            each
            for each in facts.within(facts.tries, scope.body)
            if each.finally_ is not None
            and is_within(clear.span, each.finally_)
            and is_within(request.span, each.body)
        ),
        None,
    )
    chained = next(
        (
            call
            for call in facts.within(facts.calls, scope.body)
            if call.method in ("finally", "then", "catch")
            and is_within(request.span, call.callee)
            and is_within(clear.span, Span(call.callee.end, call.span.end))
        ),
        None,
    )
    on_failure = facts.handlers_around(clear) or (chained is not None and chained.method == "catch")
    if on_failure and tried is None:
        return ""
    for read, shown, waits in _reads(limited, facts):
        if chained is not None and (read.span.start > clear.span.end or chained.method == "finally"):
            if is_within(read.span, chained.callee):
                continue  # `fetch().then(r => r.json()).finally(clear)`
            return shown
        if chained is not None:
            continue
        if tried is not None:
            if not is_within(read.span, tried.span) or (not waits and is_within(read.span, tried.body)):
                return shown
            continue
        later = clear.span.start >= request.span.end and read.span.start >= clear.span.end
        if later and not facts.are_exclusive(clear, read):
            return shown
    return _given_out(limited, tried, chained, facts)


def _reads(limited: _Limited, facts: Facts) -> Iterator[tuple[Placed, str, bool]]:
    """Yield each place that reads the body, how it is written, and whether it is awaited."""
    scope, request = limited.scope, limited.request
    for call in facts.within(facts.calls, scope.body):
        if call.span.start < request.span.end:
            # `(await fetch(…)).json()`, `fetch(…).then(…)`
            direct = is_within(request.span, call.callee) and call.method in _READS
            if direct:
                yield call, f"{call.method}()", call.is_awaited
            continue
        head, _, rest = call.receiver_written.replace("?.", ".").partition(".")
        if head in limited.names and call.method in _READS and not rest:
            yield call, f"{head}.{call.method}()", call.is_awaited
        elif head in limited.names and rest.startswith("body") and call.method != "cancel":
            yield call, f"{head}.{rest}.{call.method}()", True
        elif head in limited.names and call.method == "body":
            yield call, f"{head}.body", True
        elif any(_is_body(each.value.text, limited.names) for each in call.positional):
            yield call, f"{call.written}()", True
        elif any(each.value.text in limited.names for each in call.positional) and _reads_body(call, facts):
            yield call, f"{call.written}()", call.is_awaited
    for loop in facts.within(facts.loops, scope.body):
        if loop.is_async and loop.over.partition(".")[0] in limited.names and ".body" in loop.over:
            yield loop, loop.over, True


def _is_body(text: str, names: frozenset[str]) -> bool:
    """Return whether an argument is the body of an answer, which is read where it is given to."""
    head, _, rest = text.replace("?.", ".").replace("!", "").partition(".")
    return rest == "body" and head in names


def _reads_body(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text reads the body of an answer that it is given."""
    for function in facts.functions_named(call.method):
        for each in function.parameters:
            words = rf"\b{re.escape(each.name)}\??\.(body|{'|'.join(sorted(_READS))})\b"
            if re.search(words, facts.text(function.body)):
                return True
    return False


def _given_out(limited: _Limited, tried: Try | None, chained: Call | None, facts: Facts) -> str:
    """Return the caller's use of an answer that a function returns after it has cleared the timer."""
    request, scope = limited.request, limited.scope
    function = facts.named_function_of(request) or scope
    ends = [
        step
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "return" and facts.function_of(step) is scope
    ]
    direct = any(
        is_within(request.span, step.span)
        and re.fullmatch(
            r"return[\s(]*(await\b[\s(]*)*", facts.text(Span(step.span.start, request.span.start))
        )
        and not any(is_within(call.span, step.span) for call in _reading_chain(request, facts))
        for step in ends
    )
    held = any(step.text.strip().rstrip(";") in limited.names for step in ends)
    if not (direct or held) or (tried is None and chained is None and not held):
        return ""
    if any(call.method in _READS for call in _reading_chain(request, facts)):
        return ""
    callers = facts.callers_of(function) if function.name else ()
    for call in callers:
        for name in call.assigned:
            words = rf"\b{re.escape(name)}\??\.(body\b(?!\??\.cancel)|({'|'.join(sorted(_READS))})\()"
            around = facts.function_of(call)
            if around is not None and re.search(words, facts.text(around.body)):
                return "its callers read the body"
    return "its callers read the body" if _FETCHES.search(request.name) else ""


def _reading_chain(request: Call, facts: Facts) -> list[Call]:
    """Return the calls on a request that read its body: `fetch(u).then(r => r.json())`."""
    return [
        call
        for call in facts.calls
        if is_within(request.span, call.callee)
        and (
            call.method in _READS
            or (
                call.method == "then"
                and re.search(r"\.(json|text|blob|arrayBuffer)\(", facts.text(call.span))
            )
        )
    ]


# Rust: tokio::time::timeout around send() alone.

_SENDS = lazy_regex(r"\.send\s*\(\s*\)|\.(request|execute|get)\s*\(")
_BODIES = frozenset(("json", "text", "bytes", "chunk", "bytes_stream", "collect", "text_with_charset"))
_BODY_READ = lazy_regex(r"\.(json|text|bytes|chunk|collect|to_bytes)(::<[^(]*>)?\s*\(\s*\)")


def _rust(facts: Facts) -> Iterator[Hit]:
    limits = [
        call for call in facts.calls_of_method("timeout") if call.name.endswith(("time.timeout", "~timeout"))
    ]
    if not limits or any(call.receiver and call not in limits for call in facts.calls_of_method("timeout")):
        return  # A limit of the client or the request holds for the body, too.
    for limit in limits:
        given = limit.argument(place=1)
        scope = facts.function_of(limit)
        if given is None or scope is None or len(given.value.text) > 4000:
            continue
        if not _SENDS.search(given.value.text) or _BODY_READ.search(given.value.text):
            continue
        for assigned in facts.within(facts.assignments, scope.body):
            if assigned.value is None or not is_within(limit.span, assigned.value.span):
                continue
            names = {each.removeprefix("mut ") for each in assigned.targets}
            for call in facts.within(facts.calls, Span(limit.span.end, scope.body.end)):
                if call.method not in _BODIES or call.receiver_written.partition(".")[0] not in names:
                    continue
                if not any(is_within(call.span, each.span) for each in limits):
                    what = f"{limit.written}() ends with the headers: {call.written}() may wait without end"
                    yield Hit(call.span, what, LIKELY)
                    break


# C#: a token that is given to the request, and not to what reads its answer.

_CONTENT = lazy_regex(r"\.Content\.(ReadAs\w+Async|CopyToAsync|ReadFromJson\w*)$")


def _csharp(facts: Facts) -> Iterator[Hit]:
    reported = set[Scope]()
    for made in facts.calls:
        if not (made.name.endswith("CancellationTokenSource") and made.constructs) and not made.name.endswith(
            "CreateLinkedTokenSource"
        ):
            continue
        scope = facts.function_of(made)
        if scope is None or scope in reported or len(made.assigned) != 1:
            continue
        name = made.assigned[0]
        ends = (made.constructs and made.arguments) or f"{name}.CancelAfter" in facts.text(scope.body)
        if not ends:
            continue
        call = next(_reads_without(name, scope, facts), None)
        if call is not None:
            reported.add(scope)
            what = f"{call.written}() is not given {name}.Token: the time limit ends with the headers"
            yield Hit(call.span, what, LIKELY)
    for call in _reads_without_any(facts):
        scope = facts.function_of(call)
        if scope is not None and scope not in reported:
            reported.add(scope)
            what = f"{call.written}() has no limit: that of the client ends with the headers"
            yield Hit(call.span, what, LIKELY)


def _reads_without_any(facts: Facts) -> Iterator[Call]:
    """Yield calls that read a body after the headers alone were waited for, without any token.

    `HttpClient.Timeout` ends with the headers then."""
    for sent in facts.calls:
        if not sent.is_awaited or not any(
            "ResponseHeadersRead" in each.value.text for each in sent.arguments
        ):
            continue
        scope = facts.function_of(sent)
        for call in () if scope is None else facts.own(facts.calls, scope):
            reads = _CONTENT.search(call.written) and call.written.partition(".")[0] in sent.assigned
            if not reads or call.span.start < sent.span.end or call.arguments:
                continue
            rest = facts.text(Span(call.span.end, scope.body.end)) if scope is not None else ""
            if call.method == "ReadAsStreamAsync" and (call.is_returned or re.search(_GIVEN_TOKEN, rest)):
                continue
            yield call
            break


_GIVEN_TOKEN = r"\b(?:ct|\w*[tT]oken\w*|cts)\b|WaitAsync|Timeout"


def _reads_without(name: str, scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield calls that read the body of a request with a token, and are not given one themselves."""
    for sent in facts.within(facts.calls, scope.body):
        text = facts.text(sent.span)
        if "ResponseHeadersRead" not in text or f"{name}.Token" not in text or not sent.is_awaited:
            continue
        for call in facts.within(facts.calls, scope.body):
            reads = _CONTENT.search(call.written) and call.written.partition(".")[0] in sent.assigned
            if not reads or call.span.start < sent.span.end or "oken" in facts.text(call.span):
                continue
            # A stream is read by calls that may be given the token.
            if call.method == "ReadAsStreamAsync" and re.search(
                rf"\b{re.escape(name)}\.Token|[tT]oken\b", facts.text(Span(call.span.end, scope.body.end))
            ):
                continue
            if not re.search(r"\b(ct|cts\.Token|cancellation\w*)\b", facts.text(call.span)):
                yield call


# Go: a context that a deferred cancel ends before the caller reads the body.

_GO_BODIES = frozenset(("Do", "Get", "Post", "RoundTrip", "GetObject"))
_GO_ANSWERS = _GO_BODIES | {"QueryContext", "Query", "NewReader"}
_GO_RESULTS = lazy_regex(r"\)\s*(\([^()]*\)|[\w.*\[\]]+)\s*$")
_GO_STREAMS = lazy_regex(r"Response|Rows|Reader|Closer|Object|Body|Stream|Iterator|Cursor")


def _go(facts: Facts) -> Iterator[Hit]:
    reported = set[Scope]()
    for made in facts.calls_named("context.WithTimeout", "context.WithDeadline", "context.WithCancel"):
        scope = facts.function_of(made)
        if scope is None or scope in reported or len(made.assigned) != 2:
            continue
        context, cancel = made.assigned
        deferred = [
            call for call in facts.own(facts.calls, scope) if call.is_deferred and call.written == cancel
        ]
        if not deferred:
            continue
        found = next(_handed_back(made, context, scope, facts), None)
        if found is not None:
            reported.add(scope)
            name, span = found
            what = f"defer {cancel}() ends {context} when this returns: reading {name} then fails"
            yield Hit(span, what, LIKELY)


def _handed_back(made: Call, context: str, scope: Scope, facts: Facts) -> Iterator[tuple[str, Span]]:
    """Yield answers of requests with a context that a function returns unread, and where it does."""
    for call in facts.own(facts.calls, scope):
        if call.method not in _GO_ANSWERS or not call.assigned or call.span.start < made.span.end:
            continue
        if not re.search(rf"\b{re.escape(context)}\b", facts.text_with_values(call)):
            continue
        name, text = call.assigned[0], facts.text(scope.body)
        if name in ("_", "err") or f"{name}.Close()" in text or f"{name}.Body.Close()" in text:
            continue
        for step in facts.own(facts.steps, scope):
            if step.kind != "return" or step.span.start < call.span.end:
                continue
            parts = [each.strip() for each in step.text.split(",")]
            is_body = f"{name}.Body" in parts and call.method in _GO_BODIES
            # `return resp, err` where err is not nil returns no answer.
            if (is_body or (name in parts and _returns_stream(scope, facts))) and not (
                "err" in parts and facts.handlers_around(step)
            ):
                yield name, step.span


def _returns_stream(scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns what its caller still reads: no value of a store's `Get`."""
    results = _GO_RESULTS.search(facts.text(scope.head))
    return results is not None and _GO_STREAMS.search(results[1]) is not None


RULE = Rule(
    id="FK-R169",
    slug="limit-ends-before-body",
    title="Time limit that ends before the body has been read",
    why="The headers of an answer come first. A peer that stalls after them holds the caller for ever, or "
    "the body is cut off because its context has ended.",
    fix="Clear the timer after the body has been read, or use a limit for all of it: AbortSignal.timeout, "
    "one timeout around send and read, the token for both.",
    kind="reliability",
    severity="medium",
    languages=(*JAVASCRIPT, *RUST, *CSHARP, *GO),
    check=_check,
    words=(b"AbortController", b"timeout(", b"ResponseHeadersRead", b"context.With"),
)
