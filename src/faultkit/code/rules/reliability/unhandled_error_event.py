"""JavaScript: finds connections and children whose 'error' event nothing listens for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.name_places import ends_of_name
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_EMITTERS = {
    "redis.createClient": "the connection is lost",
    "redis.createCluster": "the connection is lost",
    "net.connect": "the connection fails",
    "net.createConnection": "the connection fails",
    "net.Socket": "the connection fails",
    "tls.connect": "the connection fails",
    "ws.WebSocket": "the connection fails",
    "ws": "the connection fails",
    "dgram.createSocket": "sending fails",
    "child_process.spawn": "the program cannot be started",
    "child_process.fork": "the program cannot be started",
    "amqplib.connect": "the connection is lost",
    "mqtt.connect": "the connection fails",
    "worker_threads.Worker": "the worker throws",
    "http.request": "the request fails",
    "https.request": "the request fails",
    "http.get": "the request fails",
    "https.get": "the request fails",
}
_NEEDS_LISTENER = ("child_process.", "net.", "tls.", "ws", "dgram.", "worker_threads.")
"""Objects that are often handed on before anything listens: only those that this text listens to count."""
_CHAIN = 4000
"""How far behind its begin the end of a chain is looked for; code without semicolons has no other limit."""


def _check(facts: Facts) -> Iterator[Hit]:
    text = facts.whole_text
    for call in facts.calls_named(*_EMITTERS):
        if facts.language == "tsx" or call.is_argument or call.is_returned or _can_be_started(call, facts):
            continue
        # Of a chain `http.get(…).on(…)`, the end of it.
        end = facts.text(Span(call.span.end, min(len(facts.syntax.source), call.span.end + _CHAIN)))
        if re.match(r"\s*\??\.\s*(on|once|addListener)\(", end) and re.search(
            r"\(\s*['\"`]error['\"`]", end[:2000]
        ):
            continue
        name = call.assigned[0] if call.assigned else ""
        bare = name.rpartition(".")[2].removeprefix("#")
        if call.name.startswith(("http.", "https.")):
            if not _is_left(call, bare, text, facts):
                continue
        elif (
            not bare
            or not re.fullmatch(r"\w+", bare)
            or _is_handled(bare, call.name.startswith(_NEEDS_LISTENER), text)
        ):
            continue
        yield Hit(
            call.span,
            f"nothing listens for errors of {call.written}(): the process ends when {_EMITTERS[call.name]}",
            LIKELY,
        )


def _can_be_started(call: Call, facts: Facts) -> bool:
    """Return whether a child is a shell, or Node itself: a program that is not there is its exit status."""
    return call.name == "child_process.spawn" and (
        re.search(r"\bshell\s*:\s*(true|['\"`/])|^\w+\(\s*process\.execPath\b", facts.text(call.span))
        is not None
    )


def _is_left(call: Call, name: str, text: str, facts: Facts) -> bool:
    """Return whether a request has no listener for its errors."""
    if not name:
        return call.is_discarded and not re.search(r"['\"]error['\"]", facts.text(call.span))
    return re.search(rf"\b{re.escape(name)}\s*\??\.\s*(on|once)\(\s*['\"`]error", text) is None and (
        re.search(rf"\b{re.escape(name)}\s*\.\s*(end|write)\(", text) is not None
    )


@lru_cache(maxsize=64)
def _is_handled(name: str, needs_listener: bool, text: str) -> bool:
    """Return whether something may listen for the errors of what has this name."""
    own = re.escape(name)
    if TextPattern(
        rf"\b{own}\s*[?!]?\.\s*(on|once|addListener|prependListener|addEventListener)\(\s*['\"`]error['\"`]"
    ).is_in(text):
        return True
    # `.on('open', …).on('error', …)`, a list of events, or a listener for all of them.
    if _is_chained(name, text) or TextPattern(rf"\b{own}\.onerror\b|events?\.once\(\s*{own}\b").is_in(text):
        return True
    if TextPattern(
        rf"[(,]\s*{own}\s*[,)]|\breturn\s+{own}\s*[;\n}}]|\bresolve\(\s*{own}\b|\b{own}\s*,?\s*\}}\s*;?\s*$",
        re.MULTILINE,
    ).is_in(text):
        return True  # Another function may listen.
    if TextPattern(
        rf"export\s+(default\s+)?(const|let|var)?\s*\{{?[^}}\n]*\b{own}\b|exports\s*(\.\w+)?\s*=\s*(\{{[^}}(]*\b)?{own}\b",
    ).is_in(text):
        return True
    if needs_listener:
        return not TextPattern(rf"\b{own}\s*\.\s*(on|once)\(").is_in(text)
    return False


_ON_ERROR = lazy_regex(r"\.\s*(?:on|once)\(\s*['\"`]error['\"`]")


@lru_cache(maxsize=4)
def _listeners(text: str) -> tuple[int, ...]:
    """Return where listeners for errors are added."""
    return tuple(found.start() for found in _ON_ERROR.finditer(text))


def _is_chained(name: str, text: str) -> bool:
    """Return whether a listener for errors is added in a statement, behind a name."""
    listeners = _listeners(text)
    for end in ends_of_name(name, text):
        at = bisect_left(listeners, end)
        if at < len(listeners) and listeners[at] <= end + _CHAIN and text.find(";", end, listeners[at]) < 0:
            return True
    return False


RULE = Rule(
    id="FK-R125",
    slug="unhandled-error-event",
    title="Error event that nothing listens for",
    why="An 'error' event without a listener is thrown: a connection that breaks ends the whole process.",
    fix="Add a listener for 'error' that logs it and lets the client reconnect, or fails the one request.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
    words=(
        b"createClient",
        b"createCluster",
        b"Pool",
        b"Client",
        b"net",
        b"tls",
        b"ws",
        b"dgram",
        b"spawn",
        b"fork",
        b"amqplib",
        b"mqtt",
        b"worker_threads",
        b"http",
    ),
)
