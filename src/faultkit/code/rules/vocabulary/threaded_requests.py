"""HTTP requests that a thread makes for an async function: `await asyncio.to_thread(requests.post, url)`.

Their response is the result of the call that starts the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from faultkit.code.facts import Argument, Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.http_libraries import BY_NAME, METHODS
from faultkit.code.rules.vocabulary.http_requests import HttpRequest, http_requests

_FUNCTION_AT = {"to_thread": 0, "run_sync": 0, "run_in_threadpool": 0, "run_in_executor": 1}
"""Calls that run a function in a thread, and the position of the function among their arguments."""


@dataclass(frozen=True, slots=True)
class ThreadedRequest:
    """A request in a thread."""

    request: HttpRequest
    """Its `call` is the one that starts the thread."""
    written: str
    """The function that sends it, as written."""
    span: Span


def threaded_requests(facts: Facts) -> Iterator[ThreadedRequest]:
    """Yield requests in threads that are awaited (Python)."""
    if facts.language != "python":
        return
    for call in facts.calls_of_method(*_FUNCTION_AT):
        given = call.argument(place=_FUNCTION_AT[call.method])
        if given is not None and call.is_awaited:
            found = _in_lambda(given, call, facts) or _by_name(given, call, facts)
            if found is not None:
                yield found


def _in_lambda(given: Argument, call: Call, facts: Facts) -> ThreadedRequest | None:
    """Return the request that is all that a lambda does."""
    scope = facts.function_at(given.value.span)
    if scope is None or not scope.is_anonymous:
        return None
    for each in http_requests(facts):
        if each.call.span == scope.body:
            return ThreadedRequest(replace(each, call=call), each.call.written, each.call.span)
    return None


def _by_name(given: Argument, call: Call, facts: Facts) -> ThreadedRequest | None:
    """Return the request of a function of a library: `requests.post`."""
    written = given.value.text
    first, dot, rest = written.partition(".")
    library = BY_NAME.get(f"{facts.imports.names.get(first, '')}{dot}{rest}")
    method = written.rpartition(".")[2]
    if library is None or facts.language not in library.languages or method not in METHODS:
        return None
    url = call.argument("url", place=given.place + 1)
    request = HttpRequest(call, library, method.upper(), None, "" if url is None else url.value.text)
    return ThreadedRequest(request, written, call.span)
