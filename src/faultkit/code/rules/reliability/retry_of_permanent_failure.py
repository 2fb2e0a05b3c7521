"""Finds retries that repeat a request also after an answer that stays the same: a 400, 401 or 404."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.fact_values import Step
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.waits import waits_in

_RAISES = lazy_regex(
    r"raise_for_status\(|EnsureSuccessStatusCode\(|error_for_status\(|!\s*\w+\.ok\b|\w+\.ok\s*===?\s*false"
    r"|not \w+\.ok\b"
    r"|\.status(_code|Code)?(\(\))?\s*(!==?|!=|>=)\s*(200|300|400|http\.StatusOK|HttpStatusCode\.OK)|!\s*\w+\.isSuccessful"
    r"|StatusCode\s*(!=|>=)\s*(200|300|400|http\.StatusOK)|is2xxSuccessful\(\)|!\w+\.IsSuccessStatusCode"
)
"""A status of failure becomes an error, or counts as one."""
_TELLS = lazy_regex(
    r"\b[45]\d\d\b|[rR]etr(y|i)able|[tT]ransient|[pP]ermanent|is_client_error|is_server_error"
    r"|ClientError|BadRequest|HTTPStatusError|HTTPError|HttpClientErrorException|[uU]nauthori[sz]ed|Forbidden|NotFound"
    r"|status\w*\s*(in|<|>|=)|AbortError|[bB]ail|giveup|give_up|retry_if|retryCondition|StatusCode\w*\s*(<|>|is)|TooMany"
    r"|\.status\s*(<|>=?\s*5|===?)|shouldRetry|should_retry|isServerError|Unprocessable"
)


_ANY_FAILURE = lazy_regex(
    r"retry_if_exception_type\(\s*\(?\s*(?:[\w.]+\.)?(?:HTTPError|HTTPStatusError|RequestException|Exception|ClientError)"
    r"\s*,?\s*\)?\s*\)"
)
"""A policy that repeats all failures of a client, those of a status among them."""


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Call]()
    known = [request.call for request in http_requests(facts)]
    raising = facts.calls_of_method("raise_for_status", "error_for_status", "EnsureSuccessStatusCode")
    for retry in retries(facts):
        text = facts.text(retry.body)
        if not _RAISES.search(text):
            continue
        # Only an answer over HTTP has a status that can be raised, whatever its client is.
        shown = known if any(is_within(call.span, retry.body) for call in known) else raising
        for call in shown:
            inside = retry.body.start <= call.span.start and call.span.end <= retry.body.end
            if not inside or call in seen or _is_of_transport(call, facts):
                continue
            around = facts.loops_around(call)
            scope = facts.named_function_of(call)
            whole = around[-1].span if around else retry.body if scope is None else scope.span
            rest = _ANY_FAILURE.sub("", _RAISES.sub("", facts.text(Span(whole.start, whole.end))))
            if _TELLS.search(rest):
                continue
            seen.add(call)
            what = f"{call.written}() is tried again also after a 400 or 404, which stays the same"
            yield Hit(call.span, what, LIKELY)
    yield from _waited_for(facts, seen)


_TRANSPORT = lazy_regex(
    r"(^|\.)(TransportError|ConnectError|ConnectTimeout|ReadTimeout|ReadError|NetworkError|ConnectionError|Timeout\w*"
    r"|ResourceAccessException|SocketTimeoutException|ConnectException|HttpTimeoutException)$"
)
"""Errors of connections, which a status never raises."""


def _is_of_transport(call: Call, facts: Facts) -> bool:
    """Return whether only broken connections lead to another try."""
    handlers = [handler for each in facts.tries_around(call) for handler in each.handlers]
    again = [handler for handler in handlers if not handler.raises or handler.exits]
    return bool(again) and all(
        handler.types and all(_TRANSPORT.search(name) for name in handler.types) for handler in again
    )


_WORKED = lazy_regex(
    r"\.(?:status_code|status|statusCode\(\)|StatusCode)\s*(?:===?|is)\s*(?:200|http\.StatusOK|HttpStatusCode\.OK)"
    r"|\.ok\b|\.is_success\b|\.isSuccessful\b|\.IsSuccessStatusCode\b|is_success\(\)"
)


def _waited_for(facts: Facts, seen: set[Call]) -> Iterator[Hit]:
    """Yield loops that ask again, after a pause, whatever status came instead of a 200."""
    for loop in facts.loops:
        if loop.kind == "comprehension" or not _COUNTS.search(f"{loop.over} {facts.text(loop.head)}"):
            continue
        text = facts.text(loop.span)
        if _WORKED.search(text) is None or any(is_within(call.span, loop.body) for call in seen):
            continue
        if next(iter(facts.within(facts.loops, loop.body)), None) is not None:
            continue
        waits = waits_in(loop, facts)
        if not waits or _TELLS.search(_WORKED.sub("", text)):
            continue
        names = {name for found in _WORKED.finditer(text) for name in _names_before(found)}
        asked = next(
            (call for call in facts.within(facts.calls, loop.body) if _is_answered(call, names)), None
        )
        if asked is not None and any(
            step.kind in ("return", "break")
            and any(_WORKED.search(each.text) for each in _branches(step, facts))
            for step in facts.within(facts.steps, loop.body)
        ):
            what = f"{asked.written}() is tried again also after a 400 or 404, which stays the same"
            yield Hit(loop.span, what, LIKELY)


_OBJECT = lazy_regex(r"((?:self\.|this\.)?[A-Za-z_]\w*)[?!]*(?:\.\w+(?:\(\))?[?!]*)*$")


def _names_before(found: re.Match[str]) -> Iterator[str]:
    """Yield the object whose status is looked at: `r` of `r.status().is_success()`."""
    before = _OBJECT.search(found.string, max(0, found.start() - 80), found.start())
    if before is not None:
        yield before[1]


def _is_answered(call: Call, names: set[str]) -> bool:
    """Return whether a call returned one of the answers whose status is looked at."""
    is_sent = bool(call.receiver_written) or call.name == "fetch"
    return is_sent and not names.isdisjoint(call.assigned)


_COUNTS = lazy_regex(r"attempt|retr|tries|range\(|<", re.IGNORECASE)


def _branches(step: Step, facts: Facts) -> Iterator[Step]:
    return (each for each in facts.steps if each.kind == "branch" and is_within(step.span, each.span))


RULE = Rule(
    id="FK-R114",
    slug="retry-of-permanent-failure",
    title="Retry of a failure that stays",
    why="A request that was refused as wrong, forbidden or unknown is refused again: the caller waits "
    "through all tries, and the service gets several times the load.",
    fix="Try again only after timeouts, broken connections, 429 and 5xx.",
    kind="reliability",
    severity="low",
    languages=EVERY_LANGUAGE,
    check=_check,
    by_default=False,
    words=(
        b"raise_for_status", b"EnsureSuccess", b"error_for_status", b".ok", b"tatus", b"isSuccessful",
        b"is2xx", b"IsSuccess",
    ),
)  # fmt: skip
