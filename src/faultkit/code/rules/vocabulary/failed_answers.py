"""Answers of C#, Kotlin and Rust that say in a body that something failed, with a status of success."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Handler
from faultkit.code.languages.syntax import Span

LANGUAGES = ("csharp", "kotlin", "rust")
_DOWN = re.compile(
    r"(^|\.)(Exception|Throwable|IOException|SQLException|SqlException|DbException|RestClientException|HttpRequestException"
    r"|WebClientException|DataAccessException|TimeoutException|RpcException|FeignException|HttpException|SocketException"
    r"|ConnectException|DbUpdateException|NpgsqlException|ResponseException|HttpRequestTimeoutException)$"
)
"""Errors that say that something does not work, not that a client asked for the wrong thing."""
_FALSE = r"\b(success|Success|ok|Ok|succeeded|IsSuccess|isSuccess)\"?\s*(=|:|to|,)\s*false\b"
_ERROR = r"\b[eE]rror(s|Message|_message)?\"?\s*(=|:|to|,)\s*(?!null\b|None\b|\"\")\S"
_STATUS = r"\bstatus\"?\s*(=|:|to|,)\s*\"(error|fail\w*)\""
_BODY = re.compile(rf"{_FALSE}|{_ERROR}|{_STATUS}")
_CSHARP = re.compile(r"^(Ok|Json|Results\.Ok|TypedResults\.Ok|Results\.Json|JsonResult|OkObjectResult)$")
_KOTLIN_OK = re.compile(r"HttpStatusCode\.OK\b")
_RUST_RETURNS = re.compile(
    r"->\s*(axum::)?Json<|->\s*impl\s+(IntoResponse|Responder)|->\s*HttpResponse\b|->\s*Value\b"
)
_CODED = re.compile(r"StatusCode|statusCode\s*[:=]|HttpStatus|\.status\(|Status::|HttpResponse::(?!Ok)\w")


def failed_answers(facts: Facts) -> Iterator[Span]:
    """Yield what answers a failure with a status of success."""
    find = {"csharp": _csharp, "kotlin": _kotlin, "rust": _rust}[facts.language]
    for each in facts.tries:
        for handler in each.handlers:
            for call in facts.within(facts.calls, handler.body):
                if find(call, handler, facts):
                    yield call.span
                    break


def _csharp(call: Call, handler: Handler, facts: Facts) -> bool:
    text = facts.text(call.span)
    if not _CSHARP.match(call.written.removeprefix("this.")) or not _is_returned(call, facts):
        return False
    is_error = _BODY.search(text) or (handler.name and re.search(rf"\b{handler.name}\.Message\b", text))
    hides = bool(call.arguments) and _is_down(handler) and facts.route_of(call) is not None
    return (hides or bool(is_error)) and not _CODED.search(facts.text(handler.body))


def _is_down(handler: Handler) -> bool:
    return handler.is_broad or any(_DOWN.search(each) for each in handler.types)


def _is_returned(call: Call, facts: Facts) -> bool:
    return call.is_returned or any(
        step.kind == "return" and step.span.start <= call.span.start < call.span.end <= step.span.end
        for step in facts.steps
    )


def _kotlin(call: Call, handler: Handler, facts: Facts) -> bool:
    text = facts.text(call.span)
    is_error = _BODY.search(text) or (handler.name and re.search(rf"\b{handler.name}\.message\b", text))
    if not is_error and not (_is_down(handler) and facts.route_of(call) is not None and call.arguments):
        return False
    if call.written in ("call.respond", "call.respondText"):
        return not _CODED.search(facts.text(handler.body)) or _KOTLIN_OK.search(text) is not None
    return call.written == "ResponseEntity.ok" and bool(call.arguments)


def _rust(call: Call, handler: Handler, facts: Facts) -> bool:
    scope = facts.named_function_of(call)
    if scope is None or not _RUST_RETURNS.search(facts.text(scope.head)):
        return False
    text = facts.text(call.span)
    is_answer = call.written in ("Json", "axum.Json", "HttpResponse.Ok().json") or text.startswith(
        "HttpResponse::Ok()"
    )
    return is_answer and _BODY.search(text) is not None and not _CODED.search(facts.text(handler.body))
