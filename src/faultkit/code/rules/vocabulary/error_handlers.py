"""Functions that a framework calls for a request that has failed, and that answer it without a status.

    @ExceptionHandler(DataAccessException.class) Problem on(DataAccessException e) { … }       Spring
    public void OnException(ExceptionContext context) { context.Result = new JsonResult(…); }     ASP.NET
    defer func() { if v := recover(); v != nil { log.Print(v) } }()                               net/http

What they answer is about a failure, whatever its words are: the client sees the status 200. Express, Koa,
Nest, Flask and FastAPI are read with the answers of other functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Handler, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.answers import responder_of
from faultkit.code.rules.vocabulary.changed_values import made_of
from faultkit.code.rules.vocabulary.failures import is_count_or_report

_WHAT = "this answers a failed request without a status, so that the client sees 200"


def answers_without_status(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield such answers, each with what is wrong."""
    if facts.language in ("java", "kotlin"):
        if b"@ExceptionHandler" in facts.syntax.source:
            yield from ((span, _WHAT) for span in _of_spring(facts))
        if facts.syntax.has_any(b"exceptionmapper", b"exceptionhandler<"):
            yield from ((span, _WHAT) for span in _of_mappers(facts))
    elif facts.language == "csharp":
        yield from ((span, _WHAT) for span in _of_aspnet(facts))
    elif facts.language == "go" and b"recover()" in facts.syntax.source:
        yield from _recovered(facts)


OTHER_RESULTS = lazy_regex(
    r"\b(?:ResponseEntity|ProblemDetail|ErrorResponse|ModelAndView|HttpEntity|RedirectView|ServerResponse|HttpResponse"
    r"|View|(?:Rest)?Response|Rendering)\b"
)
"""Results that have a status of their own."""
_SETS_STATUS = lazy_regex(
    r"\.setStatus\(|\.sendError\(|\.setStatusCode\(|\.setRawStatusCode\(|\.status\s*=|\.statusCode\s*="
)
_BODIES = (b"@restcontroller", b"@responsebody")
_GONE = lazy_regex(r"ClientAbort|AsyncRequestNotUsable|EofException|BrokenPipe|Duplicate|Already")
"""Errors after which nothing reads the answer, or which are none to the client."""


def _of_spring(facts: Facts) -> Iterator[Span]:
    if not facts.syntax.has_any(*_BODIES):
        return
    for scope in facts.scopes:
        if not _handles_exceptions(scope) or _states_status(scope, facts):
            continue
        steps = [*facts.own(facts.steps, scope)]
        if _GONE.search(facts.text(scope.head)) or any(step.kind == "raise" for step in steps):
            continue
        returned = next((step.span for step in steps if step.kind == "return"), None)
        yield scope.head if returned is None else returned


def _handles_exceptions(scope: Scope) -> bool:
    return any(each.method == "ExceptionHandler" for each in scope.decorators)


def _states_status(scope: Scope, facts: Facts) -> bool:
    """Return whether a handler of Spring sets a status, or may do so by what it returns."""
    if any(each.method == "ResponseStatus" for each in scope.decorators) or _class_has_status(scope, facts):
        return True
    head, body = facts.text(scope.head), facts.text(scope.body)
    declared = re.search(r"\)\s*:\s*[A-Z]", head) or facts.language == "java"
    return bool(OTHER_RESULTS.search(head if declared else head + body) or _SETS_STATUS.search(body))


def all_answer_with_200(scope: Scope, facts: Facts) -> bool:
    """Return whether a function is one of several handlers of Spring none of which has a status: that is a
    rule between server and client, who reads the body."""
    if not _handles_exceptions(scope):
        return False
    handlers = [each for each in facts.scopes if _handles_exceptions(each)]
    return len(handlers) > 1 and not any(_states_status(each, facts) for each in handlers)


_OK = lazy_regex(r"(?:Response|HttpResponse|RestResponse)\s*\.ok\(")
_MAPPERS = ("ExceptionMapper", "ExceptionHandler")


def _of_mappers(facts: Facts) -> Iterator[Span]:
    """Yield what a mapper of exceptions answers with success (JAX-RS, Micronaut)."""
    for scope in facts.functions_named("toResponse", "handle"):
        bases = facts.classes.get(scope.owner, ())
        if any(each.partition("<")[0].rpartition(".")[2] in _MAPPERS for each in bases):
            for step in facts.own(facts.steps, scope):
                if step.kind == "return" and _OK.match(step.text) and ".status(" not in step.text:
                    yield step.span


def _class_has_status(scope: Scope, facts: Facts) -> bool:
    name = re.escape(scope.owner.rpartition(".")[2])
    return (
        facts.text(scope.span).count("@ResponseStatus") < facts.whole_text.count("@ResponseStatus")
        and re.search(rf"@ResponseStatus\b[^;{{}}]*\bclass\s+{name}\b", facts.whole_text) is not None
    )


_RESULTS = lazy_regex(r"new\s+(?:Json|Object|OkObject|Content)Result\b")
_NEXT = lazy_regex(r"^(?:self\.)?_?next(?:\.Invoke)?$")
_WRITES = lazy_regex(r"\bResponse\.Write(?:AsJson)?Async$")


def _of_aspnet(facts: Facts) -> Iterator[Span]:
    for scope in facts.functions_named("OnException", "OnExceptionAsync"):
        if "StatusCode" in facts.text(scope.body):
            continue
        for each in facts.own(facts.assignments, scope):
            if (
                each.targets[0].endswith(".Result")
                and each.value is not None
                and _RESULTS.match(each.value.text)
            ):
                yield each.span
    for tried in facts.tries if facts.syntax.has_any(b"httpcontext") else ():
        if not any(_NEXT.match(call.written) for call in facts.within(facts.calls, tried.body)):
            continue
        for handler in tried.handlers:
            if handler.is_broad and not handler.raises and not _has_status(handler, facts):
                inside = facts.within(facts.calls, handler.body)
                yield next((call.span for call in inside if _WRITES.search(call.written)), handler.span)


def _has_status(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler, or a function that it calls, may set a status or leave that to others."""
    if "Status" in facts.text(handler.body) or "HasStarted" in facts.text(handler.body):
        return True
    for call in facts.within(facts.calls, handler.body):
        if is_logging(call) or is_count_or_report(call) or _WRITES.search(call.written) or call.constructs:
            continue
        around = (
            one
            for one in facts.within(facts.calls, handler.body)
            if is_logging(one) or _WRITES.search(one.written)
        )
        if any(is_within(call.span, one.span) for one in around):
            continue
        own = facts.functions_named(call.method)
        if not own or any("Status" in facts.text(scope.body) for scope in own):
            return True
    return False


def _recovered(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield deferred functions that end a panic and answer nothing (Go)."""
    for call in facts.calls_named("recover"):
        scope = facts.function_of(call)
        if scope is None or not scope.is_anonymous or not facts.is_deferred(call) or scope.outer is None:
            continue
        responder = responder_of(scope.outer, facts)
        if not responder or responder == "_":
            continue
        text = facts.text(scope.body)
        if re.search(rf"\b{re.escape(responder)}\b", text) or re.search(r"\bpanic\(", text):
            continue
        if _answers_through_other(responder, scope, text, facts):
            continue
        yield scope.body, "this ends a panic without an answer, so that the client sees the status 200"


def _answers_through_other(responder: str, scope: Scope, text: str, facts: Facts) -> bool:
    """Return whether a function answers through what was made of its parameter: `rw := stream(w)` (Go)."""
    assert scope.outer is not None
    return any(
        re.search(rf"\b{re.escape(name)}\b", text)
        for name in made_of({responder}, scope.outer.body, facts) - {responder, "err"}
    )
