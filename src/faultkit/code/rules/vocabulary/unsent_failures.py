"""Retries of only those failures after which nothing was done: no connection was made, or it was refused.

Sent again, such a request acts once, also without a key against repetition.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Handler
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.retry_loops import Retry

_UNSENT = lazy_regex(
    r"(^|[.:])(Connect(Error|Timeout|Exception|TimeoutException)|ConnectionRefused\w*|PoolTimeout|ConnectTimeoutError"
    r"|NewConnectionError|HttpConnectTimeoutException|UnknownHostException|NoRouteToHostException|NameResolutionError"
    r"|HttpHostConnectException|ConnectionRequestTimeoutException|ClientConnectorError|gaierror"
    r"|ConnectionPoolTimeoutException|BrokenCircuitException|TooManyRequests\w*|RateLimit\w*|CallNotPermittedException"
    r"|BulkheadFullException|Throttl\w+|PoolExhausted\w*|Unauthori[sz]ed\w*|TokenExpired\w*)$"
)
"""Errors of a request that never left, or that was refused before any work."""
_TYPES = lazy_regex(r"(?<![\w.])((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Timeout|Refused|Limit\w*|Requests))\b")
_SAYS_UNSENT = lazy_regex(
    r"ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT|ConnectionRefused|HostNotFound|\.is_connect\(\)|\bdial\b"
    r"|ConnectException|UnknownHost|ConnectError|ConnectTimeout|\b429\b|TooManyRequests|HttpRequestError\.ConnectionError"
    r"|NameResolutionError|not_?sent|unsent|never_?(sent|reached)|before_?send",
    re.IGNORECASE,
)
_SAYS_SENT = lazy_regex(
    r"ETIMEDOUT|ECONNRESET|ECONNABORTED|EPIPE|is_timeout\(\)|ReadTimeout|SocketTimeout|TimeoutException"
    r"|TaskCanceled|OperationCanceled|TransportError|IOException|RequestException|\b50[0234]\b|>=\s*500|is_server_error"
    r"|DeadlineExceeded|RequestError\b|Timeout\(\)",
    re.IGNORECASE,
)


def is_of_unsent(retry: Retry, facts: Facts) -> bool:
    """Return whether a retry repeats only what was not sent, or what was refused at once."""
    if retry.call is not None and retry.how == "helper":
        # The loop of a helper of this text has the handlers.
        name = facts.text(retry.call.callee).partition("<")[0].rpartition(".")[2]
        own = facts.functions_named(name)
        if handlers := [one for each in own for one in _handlers_in(each.body, facts)]:
            return all(_is_unsent(handler, facts) for handler in handlers)
    if retry.call is not None and retry.how != "recursion":
        text = facts.text_with_values(retry.call) if retry.how == "helper" else facts.text(retry.call.span)
        named = [name for name in _TYPES.findall(text) if not name.endswith("retry_if_exception_type")]
        if named:
            return all(map(_UNSENT.search, named))
        return _SAYS_UNSENT.search(text) is not None and _SAYS_SENT.search(text) is None
    handlers = _handlers_in(retry.body if retry.loop is None else retry.loop.body, facts)
    return bool(handlers) and all(_is_unsent(handler, facts) for handler in handlers)


def _handlers_in(span: Span, facts: Facts) -> list[Handler]:
    """Return the handlers after which something is tried again."""
    return [
        handler
        for each in facts.within(facts.tries, span)
        for handler in each.handlers
        if not _always_leaves(handler, facts)
    ]


def _always_leaves(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler ends the tries, whatever failed."""
    if not (handler.exits or handler.raises):
        return False
    branches = [step.span for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
    return any(
        step.kind in ("return", "raise", "break")
        and not any(span.start <= step.span.start and step.span.end <= span.end for span in branches)
        for step in facts.within(facts.steps, handler.body)
    )


def _is_unsent(handler: Handler, facts: Facts) -> bool:
    if handler.types and all(map(_UNSENT.search, handler.types)):
        return True
    asked = [facts.text(handler.head)]
    asked += [step.text for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
    if facts.language == "go":
        asked.append(facts.text(Span(handler.span.start, handler.body.end)))
    text = " ".join(asked)
    return _SAYS_UNSENT.search(text) is not None and _SAYS_SENT.search(text) is None
