"""Answers of C#, Kotlin and Rust that say in a body that something failed, with a status of success."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.failures import failed_branches, failure_blocks
from faultkit.code.rules.vocabulary.said_failures import asks_nothing, says_failure
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

LANGUAGES = ("csharp", "kotlin", "rust")
_DOWN = lazy_regex(
    r"(^|\.)(Exception|Throwable|IOException|SQLException|SqlException|DbException|RestClientException|HttpRequestException"
    r"|WebClientException|DataAccessException|TimeoutException|RpcException|FeignException|HttpException|SocketException"
    r"|ConnectException|DbUpdateException|NpgsqlException|ResponseException|HttpRequestTimeoutException)$"
)
"""Errors that say that something does not work, not that a client asked for the wrong thing."""
_FALSE = r"\b(success|Success|ok|Ok|succeeded|IsSuccess|isSuccess)\"?\s*(=|:|to|,)\s*false\b"
_ERROR = r"\b[eE]rror(s|Message|_message)?\"?\s*(=|:|to|,)\s*(?!null\b|None\b|\"\")\S"
_STATUS = r"\bstatus\"?\s*(=|:|to|,)\s*\"(error|fail\w*)\""
_BODY = lazy_regex(rf"{_FALSE}|{_ERROR}|{_STATUS}")
_CSHARP = lazy_regex(r"^(Ok|Json|Results\.Ok|TypedResults\.Ok|Results\.Json|JsonResult|OkObjectResult)$")
_KOTLIN_OK = lazy_regex(r"HttpStatusCode\.OK\b")
_RUST_RETURNS = lazy_regex(
    r"->\s*(axum::)?Json<|->\s*impl\s+(IntoResponse|Responder)|->\s*HttpResponse\b|->\s*Value\b"
)
_CODED = lazy_regex(r"StatusCode|statusCode\s*[:=]|HttpStatus|\.status\(|Status::|HttpResponse::(?!Ok)\w")


def failed_answers(facts: Facts) -> Iterator[Span]:
    """Yield what answers a failure with a status of success."""
    find = {"csharp": _csharp, "kotlin": _kotlin, "rust": _rust}[facts.language]
    handlers = [handler for each in facts.tries for handler in each.handlers]
    if facts.language == "csharp":
        handlers += map(_as_handler, failed_branches(facts))
    for handler in handlers:
        for call in facts.within(facts.calls, handler.body):
            if find(call, handler, facts):
                yield call.span
                break
    if facts.language == "kotlin":
        yield from _kotlin_blocks(facts)
    if facts.language == "rust":
        yield from _errors_as_answers(facts)
        yield from _errors_as_ok(facts)


def _as_handler(block: Span) -> Handler:
    """Return a block that runs only if an outcome is a failure as a handler of no error."""
    return Handler((), "", block, block, 0, False, False, False, False, False)


_WRITES = lazy_regex(r"\bResponse\.Write(AsJson)?Async$")


def _csharp(call: Call, handler: Handler, facts: Facts) -> bool:
    if _WRITES.search(call.written):
        text = facts.text(call.span)
        scope = facts.function_of(call)
        coded = scope is None or _CODED.search(facts.text(scope.body))
        return not coded and (says_failure(text) or _BODY.search(text) is not None)
    is_made = call.constructs and facts.route_of(call) is not None and not call.method.endswith(_NO_BODIES)
    if not (is_made or _CSHARP.match(call.written.removeprefix("this."))) or not _is_returned(call, facts):
        return False
    text = facts.text(call.span)
    if _CODED.search(facts.text(handler.body)):
        return False
    if is_made and not _CSHARP.match(call.written):
        return _is_whole(call, facts) and (
            says_failure(text) or (_BODY.search(text) is not None and asks_nothing(text))
        )
    is_error = _BODY.search(text) or (handler.name and re.search(rf"\b{handler.name}\.Message\b", text))
    hides = bool(call.arguments) and _is_down(handler) and facts.route_of(call) is not None
    is_known = "out var" in facts.text(handler.head)
    return bool(is_error) or (hides and asks_nothing(text) and not is_known)


_NO_BODIES = ("Exception", "ProblemDetails", "ObjectResult", "ContentResult")


def _is_whole(call: Call, facts: Facts) -> bool:
    """Return whether what is made is all that is returned."""
    return any(
        step.kind == "return" and step.text.rstrip("; ") == facts.text(call.span)
        for step in facts.within(facts.steps, Span(call.span.start - 8, call.span.end + 1))
    )


def _is_down(handler: Handler) -> bool:
    return handler.is_broad or any(_DOWN.search(each) for each in handler.types)


def _is_returned(call: Call, facts: Facts) -> bool:
    return call.is_returned or any(
        step.kind == "return" and step.span.start <= call.span.start < call.span.end <= step.span.end
        for step in facts.steps
    )


def _kotlin(call: Call, handler: Handler, facts: Facts) -> bool:
    text = facts.text(call.span)
    names_error = handler.name and re.search(rf"\b{handler.name}\.message\b", text)
    is_error = _BODY.search(text) or says_failure(text) or names_error
    is_route = facts.route_of(call) is not None
    hides = _is_down(handler) and is_route and bool(call.arguments) and asks_nothing(text)
    if not is_error and not hides:
        return False
    if _RESPONDS.match(call.written):
        return not _CODED.search(facts.text(handler.body)) or _KOTLIN_OK.search(text) is not None
    if call.written == "ResponseEntity.ok":
        return bool(call.arguments)
    is_made = call.constructs or _MADE_BY.match(call.written)
    if any(is_within(call.span, step.span) for step in facts.within(facts.steps_of("raise"), handler.body)):
        return False  # What StatusPages, or the caller, makes of it stands elsewhere.
    return bool(is_made) and is_route and says_failure(text) and _is_last(call, handler.body, facts)


_RESPONDS = lazy_regex(r"^call\.respond(Text|Json)?$")
_MADE_BY = lazy_regex(r"^(mapOf|[A-Z]\w*\.\w+)$")


def _is_last(call: Call, block: Span, facts: Facts) -> bool:
    """Return whether a call is the value of a block, or all that it returns."""
    if _CODED.search(facts.text(block)) or call.method.endswith(_NO_BODIES):
        return False
    if not facts.text(Span(call.span.end, block.end)).strip(" \n\t});,"):
        return facts.text(Span(block.start, call.span.start)).rstrip()[-1:] not in ("(", "=", ",", ".", ":")
    return False


def _kotlin_blocks(facts: Facts) -> Iterator[Span]:
    """Yield answers in `onFailure { … }` and in `exception<Throwable> { call, cause -> … }`."""
    for block in failure_blocks(facts):
        # Handlers of errors are read above.
        if any(is_within(block.span, one.body) for each in facts.tries for one in each.handlers):
            continue
        for call in facts.within(facts.calls, block.span):
            text = facts.text(call.span)
            is_coded = _CODED.search(facts.text(block.span)) and not _KOTLIN_OK.search(text)
            is_error = block.failed is not None or says_failure(text) or _BODY.search(text)
            if _RESPONDS.match(call.written) and is_error and not is_coded:
                yield call.span


def _rust(call: Call, handler: Handler, facts: Facts) -> bool:
    scope = facts.named_function_of(call)
    if scope is None or not _RUST_RETURNS.search(facts.text(scope.head)):
        return False
    text = facts.text(call.span)
    is_answer = call.written in ("Json", "axum.Json", "HttpResponse.Ok().json") or text.startswith(
        "HttpResponse::Ok()"
    )
    if not is_answer or not (_BODY.search(text) or says_failure(text)):
        return False
    block = facts.text(handler.body)
    return not _CODED.search(block.replace("StatusCode::OK", ""))


_INTO_RESPONSE = TextPattern(r"\bimpl(?:<[^>]*>)?\s+(?:\w+::)*IntoResponse\s+for\s+\w*(?:Error|Failure)\w*")


def _errors_as_answers(facts: Facts) -> Iterator[Span]:
    """Yield the answers of a type of errors that never have a status of failure."""
    if _INTO_RESPONSE.search(facts.whole_text) is None:
        return
    for scope in facts.functions_named("into_response"):
        if not re.search(r"Error|Failure", scope.owner or scope.name):
            continue
        text = facts.text(scope.body)
        made = [
            call for call in facts.own(facts.calls, scope) if call.written in ("Json", "axum.Json", "Html")
        ]
        if made and not re.search(
            r"[sS]tatus|\b[45]\d\d\b|\.into_response\(\)[^}]*\.into_response\(\)",
            text.replace("StatusCode::OK", ""),
        ):
            yield made[0].span


def _errors_as_ok(facts: Facts) -> Iterator[Span]:
    """Yield `HttpResponse::Ok()` in the answer of a type of errors (actix-web)."""
    for scope in facts.functions_named("error_response"):
        for call in facts.own(facts.calls, scope):
            if call.written in ("HttpResponse.Ok", "HttpResponse::Ok", "actix_web.HttpResponse.Ok"):
                yield call.span
