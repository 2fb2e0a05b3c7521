"""Calls that answer a request: with a failure, with a success, or either."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts, Scope

_FAILED = re.compile(
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
_GO_CONTEXTS = re.compile(
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
            return each.name
        if facts.language == "java" and each.type.endswith("HttpServletResponse"):
            return each.name
    return ""


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
        return call.method in ("sendError", "sendRedirect") and call.receiver_written == responder
    if call.method not in _SENDS:
        return False
    return call.written.partition(".")[0].partition("(")[0] == responder


def is_failure(call: Call, facts: Facts) -> bool:
    """Return whether an answer has a status of failure."""
    if call.name == "net/http.Error" or call.method in ("AbortWithError", "sendError"):
        return True
    return _FAILED.search(facts.text(call.span)) is not None
