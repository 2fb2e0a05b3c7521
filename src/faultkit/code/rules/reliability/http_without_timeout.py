"""Finds HTTP calls that can wait for ever.

Evidence that it matters: the library has no limit at all, or one of minutes in a program that is no command.
A limit of 100 s that the library has matters where a request or a message waits: otherwise `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.fact_values import Text, Value
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.built_requests import clients_without_timeout, reqwest_client_apart
from faultkit.code.rules.vocabulary.command_lines import (
    is_for_one_user,
    is_without_option,
    may_be_for_browser,
)
from faultkit.code.rules.vocabulary.endless_clients import endless_clients, only_makes
from faultkit.code.rules.vocabulary.half_limits import half_limits
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CLIENTS = ("httpx.Client", "httpx.AsyncClient")
_OFF = lazy_regex(r"""["']timeout["']\s*:\s*(None|httpx\.Timeout\(\s*(timeout=)?None\s*\))""")
_NONE = lazy_regex(r"None|httpx\.Timeout\(\s*(timeout=)?None\s*\)")


def _check(facts: Facts) -> Iterator[Hit]:
    off = dict(_switched_off(facts))
    for call, place in off.items():
        what = f"{call.written}() switches the library's own limit off and may wait for ever"
        yield Hit(place, what, LIKELY)
    seen = set[Call]()
    for request in http_requests(facts):
        call, default_s = request.call, request.library.default_s
        if request.timeout is not False or call in off:
            continue
        if (client := _client_apart(call, facts)) is not None:
            if client not in seen:
                seen.add(client)
                what = f"the client of {client.written} has no timeout, and its requests may wait for ever"
                yield Hit(client.span, what, CERTAIN)
        elif call.name in _OF_NODE:
            by = "Node allows 300 s for each step and has no bound for the whole"
            is_open = _is_of_user(call, facts) or (facts.route_of(call) is None and may_be_for_browser(facts))
            sure = POSSIBLE if is_open else LIKELY
            yield Hit(call.span, f"{call.written}() has no timeout of its own: {by}", sure, "medium")
        elif default_s is None:
            if is_without_option(call, facts):
                continue
            sure = POSSIBLE if _is_of_user(call, facts) or _is_deliberate(call, facts) else CERTAIN
            if (client := reqwest_client_apart(call, facts)) is not None:
                if client not in seen:
                    seen.add(client)
                    what = (
                        f"the client of {client.written}() has no timeout, and its requests may wait for ever"
                    )
                    yield Hit(client.span, what, sure)
                continue
            yield Hit(
                _with_builder(call, facts), f"{call.written}() has no timeout and may wait for ever", sure
            )
        elif request.client is None or not request.client.has("transport"):
            by = f"{request.library.name} allows {default_s:g} s"
            if not request.library.bounds_whole:
                by += " for each step and has no bound for the whole"
            what = f"{call.written}() has no timeout of its own: {by}"
            # A default of a few seconds holds up little; one of minutes does.
            severity: Severity = "medium" if default_s > 60 else "low"
            is_long = default_s > _LONG_S or (
                default_s > 60 and frequency_of(call, facts) in ("request", "message")
            )
            yield Hit(call.span, what, LIKELY if is_long else POSSIBLE, severity)
    for client in clients_without_timeout(facts):
        what = f"the client of {client.written}() has no timeout, and its requests may wait for ever"
        yield Hit(client.span, what, LIKELY)
    for span, what in endless_clients(facts):
        yield Hit(span, what, POSSIBLE if only_makes(facts) else LIKELY)
    for span, what in half_limits(facts):
        yield Hit(span, what, LIKELY)


_OF_NODE = ("fetch", "undici.fetch")
"""What ends a request by itself when the headers, or the next bytes of the body, take 300 s."""
_LONG_S = 100
_HERE = lazy_regex(
    r"""["'`](?:https?://(?:localhost|127\.0\.0\.1|\[::1\])|/(?!/)|\.\.?/)|\b(?:window|location|document)\."""
)
"""Addresses of this machine, and those that only a browser can complete."""


def _is_of_user(call: Call, facts: Facts) -> bool:
    """Return whether a user waits for it, at a terminal or in a browser, or this machine answers."""
    if facts.route_of(call) is not None:
        return False
    first = call.argument("url", place=0)
    if first is not None and _HERE.match(first.value.text):
        return True
    return is_for_one_user(facts) or _MAIN.search(facts.syntax.source) is not None


def _is_deliberate(call: Call, facts: Facts) -> bool:
    """Return whether a comment at a request or at its client says why it has no limit."""
    places = (call,) if call.origin is None else (call, call.origin)
    return any("timeout" in facts.comment_at(each).lower() for each in places)


_MAIN = TextPattern(rb"^if __name__ == ['\"]__main__['\"]:", re.MULTILINE)


def _with_builder(call: Call, facts: Facts) -> Span:
    """Return the span of a request with the builder before it, where the limit belongs (Java, Kotlin)."""
    given = call.argument(place=0) if call.method in ("send", "sendAsync") else None
    if given is None or given.value.shape != "name":
        return call.span
    made = [
        each.span.start
        for each in facts.assignments_to(given.value.text, call)
        if each.span.start < call.span.start and each.value is not None and "newBuilder" in each.value.text
    ]
    return Span(made[-1], call.span.end) if made else call.span


_LIMITED_AS_CLIENT = lazy_regex(r"^(net/http\.Client|(.*\.)?RestTemplate|axios\.create)$")
"""Clients whose limit can be set where they are made, and not for one request."""


def _client_apart(call: Call, facts: Facts) -> Call | None:
    """Return the client of a call, if this text makes it elsewhere and that is where its limit belongs."""
    client = call.origin
    if client is None or not (client.constructs or client.name == "axios.create"):
        return None
    if not _LIMITED_AS_CLIENT.match(client.name):
        return None
    return None if facts.named_function_of(client) is facts.named_function_of(call) else client


def _switched_off(facts: Facts) -> Iterator[tuple[Call, Span]]:
    """Yield clients and requests of httpx without any limit, by keyword or in options that are spread.

    The next event of a stream may take any time, the next bytes of a file not. A comment gives a reason."""
    requests = {each.call for each in http_requests(facts) if each.library.name == "httpx"}
    for call in facts.calls if facts.imports_any("httpx") else ():
        if call not in requests and call.name not in _CLIENTS:
            continue
        if call.method == "stream" and not _is_stored(call, facts):
            continue
        given = call.argument("timeout")
        place: Value | Text | None = (
            given.value if given is not None and _NONE.fullmatch(given.value.text) else None
        )
        if given is None:
            place = _in_options(call, facts)
        if place is not None and not facts.comment_at(call) and not facts.comment_at(place):
            yield call, place.span


_CHUNKS = ("iter_bytes", "aiter_bytes", "iter_raw", "aiter_raw")
_FILES = lazy_regex(
    r"^(?:open|io\.open|os\.fdopen|aiofiles\.open|anyio\.open_file|tempfile\.\w+|pathlib\.Path\b.*\.open)\(\)"
)


def _is_stored(call: Call, facts: Facts) -> bool:
    """Return whether the function that asks for a streamed answer writes its bytes to a file."""
    scope = facts.function_of(call)
    if scope is None:
        return False
    inside = [*facts.own(facts.calls, scope)]
    reads = any(each.method in _CHUNKS for each in inside)
    return reads and any(each.method == "write" and _FILES.match(each.name) for each in inside)


def _in_options(call: Call, facts: Facts) -> Text | None:
    """Return the key `timeout` in a dictionary that is spread into a call, if its value is no limit."""
    names = {each.value.text.strip("*") for each in call.arguments if each.name == "**"}
    for each in facts.assignments:
        if each.value is None or not names & {*each.targets} or not _OFF.search(each.value.text):
            continue
        return next(
            (text for text in facts.within(facts.texts, each.value.span) if text.text == "timeout"), None
        )
    return None


RULE = Rule(
    id="FK-R001",
    slug="http-call-without-timeout",
    title="HTTP call without a timeout",
    why="When the other side stops answering, the call holds its thread, connection and caller until "
    "all of them are "
    "used up: one slow dependency becomes an outage.",
    fix="Give the call or its client a timeout that is shorter than what your own callers wait.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
