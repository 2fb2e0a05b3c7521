"""Calls that answer a request: with a failure, with a success, or either."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span

_FAILED = lazy_regex(
    r"\b[45]\d\d\b|Status(BadRequest|Unauthorized|Forbidden|NotFound|Conflict|Unprocessable\w*|TooMany\w*|Internal\w*"
    r"|BadGateway|ServiceUnavailable|GatewayTimeout|PaymentRequired|Gone|MethodNotAllowed)"
    r"|\b(BAD_REQUEST|UNAUTHORIZED|FORBIDDEN|NOT_FOUND|CONFLICT|INTERNAL_SERVER_ERROR|SERVICE_UNAVAILABLE)\b"
)
_SENDS = frozenset(("json", "send", "end", "render", "sendStatus", "sendFile", "redirect"))
_RESPONDERS = frozenset(("res", "response", "reply", "resp"))
_GO_SENDS = frozenset(
    ("JSON", "String", "XML", "HTML", "AbortWithStatusJSON", "AbortWithStatus", "AbortWithError", "Status",
     "IndentedJSON", "Data", "PureJSON", "SendString", "SendStatus")
)  # fmt: skip
_JAVA_SENDS = frozenset(("sendError", "sendRedirect", "onNext", "onError", "onCompleted"))
_GO_CONTEXTS = lazy_regex(
    r"(^|[./])(gin|echo|fiber)\.(Context|Ctx)$|/(gin|echo|fiber)(/v\d)?\.(Context|Ctx)$"
)


def responder_of(scope: Scope, facts: Facts) -> str:
    """Return the parameter through which a function answers: `w`, `c`, `res`; empty if there is none."""
    for each in scope.parameters:
        if facts.language == "go" and (
            each.type == "net/http.ResponseWriter" or _GO_CONTEXTS.search(each.type)
        ):
            return each.name
        if facts.language in ("javascript", "typescript", "tsx") and each.name in _RESPONDERS:
            return "" if _makes_promise(scope, facts) else each.name
        if facts.language == "java" and each.type.endswith(("HttpServletResponse", "StreamObserver")):
            return each.name
    # A function of a gRPC server: `(call, callback) => …`
    names = [each.name for each in scope.parameters]
    return names[1] if names in (["call", "callback"], ["call", "cb"]) else ""


_PROMISE = lazy_regex(rb"new Promise(?:<[^()]*>)?\(\s*(?:async\s*)?$")


def _makes_promise(scope: Scope, facts: Facts) -> bool:
    """Return whether a function is given to a promise, which it resolves: `new Promise((res) => …)`."""
    start = scope.span.start
    return _PROMISE.search(facts.syntax.source[max(0, start - 60) : start]) is not None


def is_answer(call: Call, responder: str, facts: Facts) -> bool:
    """Return whether a call sends an answer, of any status."""
    if facts.language == "go":
        if call.name == "net/http.Error" or call.name.endswith("/render.JSON"):
            return True
        if any(each.value.text == responder for each in call.positional[:1]) and re.match(
            r"(?i)(write|respond|render|send)_?(json|error|err)?", call.method
        ):
            return "." not in call.written or call.receiver_written in ("render", "httpx", "respond", "self")
        if call.method in ("Write", "WriteHeader") or call.method in _GO_SENDS:
            return call.receiver_written == responder
        return call.method == "Encode" and f"NewEncoder({responder})" in facts.text(call.span)
    if facts.language == "java":
        return call.method in _JAVA_SENDS and call.receiver_written == responder
    if call.written == responder:
        return True
    if call.method not in _SENDS:
        return False
    return call.written.partition(".")[0].partition("(")[0] == responder


def is_failure(call: Call, facts: Facts) -> bool:
    """Return whether an answer has a status of failure."""
    if call.name == "net/http.Error" or call.method in ("AbortWithError", "sendError"):
        return True
    return _FAILED.search(facts.text(call.span)) is not None


_OF_CONTEXT = lazy_regex(r"\bFromContext\(|\.Context\(\)\.Value\(")
"""What an earlier function of the chain has put there: it fails only if the chain is built wrongly."""


def unanswered_failures(facts: Facts) -> Iterator[tuple[Try, Handler]]:
    """Yield handlers that log an error and return without an answer, for which net/http answers 200 (Go),
    each with what failed."""
    if not facts.imports_any("net/http"):
        return
    for each in facts.tries:
        scope = facts.function_of(each)
        responder = "" if scope is None else _writer_of(scope)
        if scope is None or not responder or _OF_CONTEXT.search(facts.text(each.body)):
            continue
        used = re.compile(rf"\b{re.escape(responder)}\b")
        before = [
            Span(found.start(), found.end())
            for found in re.compile(used.pattern.encode()).finditer(
                facts.syntax.source, scope.body.start, each.body.end
            )
        ]
        left = [
            arm.span for arm in facts.arms if arm.leaves == "function" and is_within(arm.span, scope.body)
        ]
        if any(not any(is_within(use, arm) for arm in left) for use in before):
            continue
        for handler in each.handlers:
            steps = list(facts.within(facts.steps, handler.body))
            returns = [step for step in steps if step.kind == "return"]
            logs = any(map(is_logging, facts.within(facts.calls, handler.body)))
            is_bare = bool(returns) and not any(step.text.strip("; ") for step in returns)
            if is_bare and logs and not used.search(facts.text(handler.span)):
                yield each, handler


def _writer_of(scope: Scope) -> str:
    types = {each.type: each.name for each in scope.parameters}
    writer = types.get("net/http.ResponseWriter", "")
    return writer if "net/http.Request" in types and writer != "_" else ""
