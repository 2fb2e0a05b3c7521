"""Sockets that may wait for ever to connect or to read."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.source.findings.facts import Call, Facts
from faultkit.source.findings.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.source.findings.vocabulary.bounds import is_bounded

_BOUNDED = ("settimeout", "setblocking", "setSoTimeout", "setTimeout", "SetDeadline", "SetReadDeadline")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in _connecting(facts):
        made = call.origin or call
        bounded = any(each.method in _BOUNDED for each in (*facts.calls_on(made), *facts.calls_on(call)))
        if bounded or is_bounded(call, facts) or facts.calls_named("socket.setdefaulttimeout"):
            continue
        yield Hit(call.span, f"{call.written}() has no timeout", LIKELY)


def _connecting(facts: Facts) -> Iterator[Call]:
    for call in facts.calls_named("socket.create_connection"):
        if not call.has("timeout") and call.argument(place=1) is None and not call.spreads:
            yield call
    yield from facts.calls_named("socket.socket().connect", "socket.socket.connect", "net.Dial")
    if facts.language == "java":
        yield from (call for call in facts.calls_named("java.net.Socket") if len(call.positional) >= 2)
    yield from facts.calls_named("asyncio.open_connection")
    if facts.language != "go":
        for call in facts.calls_named("net.connect", "net.createConnection", "tls.connect"):
            if not call.has("timeout"):
                yield call


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
