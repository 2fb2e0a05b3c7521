"""Finds HTTP responses that are used without a check of their status."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import HttpRequest, http_requests

_READS = frozenset(
    [
        "json",
        "text",
        "content",
        "read",
        "body",
        "data",
        "iter_content",
        "iter_lines",
        "aread",
        "bytes",
        "ReadAsStringAsync",
        "ReadAsStreamAsync",
        "ReadAsByteArrayAsync",
        "ReadFromJsonAsync",
    ]
)
_CHECKS = re.compile(
    r"\b(raise_for_status|error_for_status\w*|EnsureSuccessStatusCode|IsSuccessStatusCode|isSuccessful|code|status_code|is_success|is_error|StatusCode|statusCode|ok|status|reason)\b"
)

_VALIDATES = re.compile(
    r"\bexpectSuccess\s*=\s*true\b|\bHttpResponseValidator\b|\baddDefaultResponseValidation\b"
)
"""What a client of Ktor is configured with to throw for every bad status."""


def _check(facts: Facts) -> Iterator[Hit]:
    for request in http_requests(facts):
        if request.library.status_raises or request.library.name in ("http", "got"):
            continue
        if _is_read(request, facts) and not _is_checked(request, facts):
            what = f"the answer of {request.call.written}() is used whatever its status is"
            yield Hit(request.call.span, what, LIKELY)
        elif _is_dropped(request) and not _is_checked(request, facts):
            what = f"the response of {request.call.written}() is not checked, so a refusal goes unnoticed"
            yield Hit(request.call.span, what, LIKELY)


def _is_dropped(request: HttpRequest) -> bool:
    """Return whether the response of a write is unused. Calls that are not awaited belong to another rule."""
    call = request.call
    if request.library.name in ("net/http", "superagent") or not call.is_discarded:
        return False
    return request.method in ("POST", "PUT", "PATCH", "DELETE") and (
        call.is_awaited or request.library.name in ("requests", "urllib3", "java.net.http", "httpx")
    )


def _is_read(request: HttpRequest, facts: Facts) -> bool:
    call = request.call
    if request.library.name == "net/http":
        name = call.assigned[0] if call.assigned else ""
        scope = facts.function_of(call)
        if scope is None or not name or name == "_":
            return False
        used = [each.written for each in facts.within(facts.accesses, scope.span)]
        used += [each.written for each in facts.within(facts.calls, scope.span)]
        return any(each.startswith(f"{name}.Body") and each != f"{name}.Body.Close" for each in used)
    used = [each.method for each in facts.calls_on(call)]
    used += [each.name.rpartition(".")[2] for each in facts.accesses_on(call)]
    return any(each in _READS for each in used)


def _is_checked(request: HttpRequest, facts: Facts) -> bool:
    call = request.call
    client = request.client
    if request.library.name == "aiohttp" and (
        call.has("raise_for_status") or (client and client.has("raise_for_status"))
    ):
        return True
    if client is not None and client.has("event_hooks", "raise_for_status"):
        return True
    if client is not None and _VALIDATES.search(facts.text(client.span)):
        return True
    later = [each.written for each in facts.calls_on(call)] + [
        each.written for each in facts.accesses_on(call)
    ]
    later += [each.name for each in facts.calls_on(call)] + [each.name for each in facts.accesses_on(call)]
    if any(_CHECKS.search(each.rpartition(").")[2] or each) for each in later):
        return True
    # The whole response may be passed to a function that checks it.
    for name in call.assigned[:1]:
        scope = facts.function_of(call)
        if scope is None:
            return False
        for other in facts.within(facts.calls, scope.span):
            if other is not call and any(argument.value.text == name for argument in other.arguments):
                return True
    return False


RULE = Rule(
    id="FK-R026",
    slug="unchecked-response-status",
    title="Response status not checked",
    why="An error page is read as data: what fails is the parser, or nothing, and wrong values go on.",
    fix="Check the status first: raise_for_status(), if (!res.ok) throw, resp.StatusCode.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
