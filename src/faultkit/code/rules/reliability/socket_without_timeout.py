"""Finds sockets that can wait for ever to connect or to read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.waits import is_bounded

_CLIENTS = {
    "smtplib.SMTP": 3,
    "smtplib.SMTP_SSL": 3,
    "smtplib.LMTP": 4,
    "ftplib.FTP": 4,
    "ftplib.FTP_TLS": 5,
    "imaplib.IMAP4": 2,
    "imaplib.IMAP4_SSL": 3,
    "poplib.POP3": 2,
    "poplib.POP3_SSL": 3,
    "telnetlib.Telnet": 2,
    "http.client.HTTPConnection": 2,
    "http.client.HTTPSConnection": 2,
}
"""Clients of Python's standard library, with the index of their timeout: without one they wait for ever."""
_SERVES = ("net/http.ListenAndServe", "net/http.ListenAndServeTLS", "net/http.Serve", "net/http.ServeTLS")
_OF_SERVERS = ("ReadTimeout", "ReadHeaderTimeout")
_BOUNDED = ("settimeout", "setblocking", "setSoTimeout", "setTimeout", "SetDeadline", "SetReadDeadline")


_LOCAL = re.compile(r"AF_UNIX|[\"']unix|\bpath:|\.sock\b|socketPath")
"""Sockets of this machine."""
_INSIDE = re.compile(r"localhost|127\.0\.0\.1|pprof", re.IGNORECASE)
"""Servers for those who run the program."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in _connecting(facts):
        connection = call.origin or call
        if _LOCAL.search(facts.text(connection.span)) or _LOCAL.search(facts.text(call.span)):
            continue
        bounded = any(
            each.method in _BOUNDED for each in (*facts.calls_on(connection), *facts.calls_on(call))
        )
        if bounded or is_bounded(call, facts) or facts.calls_named("socket.setdefaulttimeout"):
            continue
        yield Hit(call.span, f"{call.written}() has no timeout", LIKELY)
    if facts.language == "go":
        yield from _servers(facts)


def _servers(facts: Facts) -> Iterator[Hit]:
    mild: Severity = "medium"
    for call in facts.calls_named(*_SERVES):
        if _INSIDE.search(facts.text(call.span)):
            continue
        what = f"{call.written}() sets no timeouts: a client that never ends its request is waited for"
        yield Hit(call.span, what, LIKELY, mild)
    for call in facts.calls_named("net/http.Server"):
        later = {f"{name}.{each}" for name in call.assigned for each in _OF_SERVERS}
        if call.has(*_OF_SERVERS) or not later.isdisjoint(facts.assigned_names):
            continue
        what = f"{call.written} has no ReadHeaderTimeout: a client that never ends its request is waited for"
        yield Hit(call.callee, what, LIKELY, mild)


def _connecting(facts: Facts) -> Iterator[Call]:
    connects = facts.calls_named("socket.create_connection")
    bounded_functions = {facts.function_of(call) for call in connects if _has_timeout(call, 1)}
    for call in connects:
        if not _has_timeout(call, 1) and facts.function_of(call) not in bounded_functions:
            yield call
    for name, place in _CLIENTS.items():
        for call in facts.calls_named(name):
            # Without a host it does not connect yet.
            if call.arguments and not _has_timeout(call, place):
                yield call
    yield from facts.calls_named("socket.socket().connect", "socket.socket.connect", "net.Dial")
    if facts.language == "java":
        yield from (call for call in facts.calls_named("java.net.Socket") if len(call.positional) >= 2)
    yield from facts.calls_named("asyncio.open_connection")
    if facts.language != "go":
        for call in facts.calls_named("net.connect", "net.createConnection", "tls.connect"):
            if not call.has("timeout"):
                yield call


def _has_timeout(call: Call, place: int) -> bool:
    return call.has("timeout") or call.argument(place=place) is not None or call.spreads


RULE = Rule(
    id="FK-R003",
    slug="socket-without-timeout",
    title="Socket without a timeout",
    why="A host that drops packets leaves the connect or read waiting for minutes, or for ever.",
    fix="Pass a timeout to the connect, or set one on the socket before using it.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
