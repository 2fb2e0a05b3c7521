"""Finds connections that last, and that nothing makes again once they are lost."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.call_paths import callers_of_function
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_AGAIN = TextPattern(
    r"re_?connect|re_?establish|re_?subscribe|retry|backoff|restart|addConnectListener|supervis|resilien|recover",
    re.IGNORECASE,
)
_OFF = TextPattern(r"\b(AutomaticRecoveryEnabled\s*=\s*false|setAutomaticRecoveryEnabled\(\s*false\s*\))")
_CONNECTS = TextPattern(r"\b(?:CreateConnection|newConnection)(?:Async)?\(")
_SILENT = lazy_regex(
    r"\bheartbeat\s*[=:]\s*0\b|\bsetRequestedHeartbeat\(\s*0\s*\)|\bRequestedHeartbeat\s*=\s*(TimeSpan\.Zero|0\b)"
)
_BROKER = TextPattern(r"pika|amqp|[rR]abbit")
_SOCKETS = frozenset(("ws", "ws.WebSocket", "WebSocket"))
_WHAT = "is not made again when it is lost: nothing arrives any more, and nothing says so"


def _check(facts: Facts) -> Iterator[Hit]:
    for found in _OFF.finditer(facts.whole_text):
        # A factory that is only set up here belongs to what connects, which may connect again.
        connects = _CONNECTS.search(facts.whole_text)
        what = f"the connection {_WHAT}"
        yield Hit(facts.syntax.place_of(found), what, LIKELY if connects else POSSIBLE)
    for found in _SILENT.finditer(facts.whole_text) if _BROKER.search(facts.whole_text) else ():
        place = facts.syntax.place_of(found)
        # The default of a parameter is for callers to change.
        if not any(is_within(place, scope.head) for scope in facts.scopes):
            yield Hit(place, "without a heartbeat, a peer that is gone is never noticed", LIKELY)
    if _AGAIN.search(facts.whole_text):
        return
    if facts.language in JAVASCRIPT:
        yield from _javascript(facts)
    elif facts.language == "python":
        yield from _python(facts)
    elif facts.language == "go":
        yield from _go(facts)
    elif facts.language in ("java", "kotlin"):
        yield from _okhttp(facts)
    elif facts.language == "rust":
        yield from _rust(facts)


def _javascript(facts: Facts) -> Iterator[Hit]:
    """Yield sockets whose end is only noted, and consumers of amqplib without a handler of `close`."""
    for call in facts.calls:
        if call.constructs and call.name in _SOCKETS and call.positional:
            if _is_lasting_socket(call, facts):
                yield Hit(call.span, f"{call.written} {_WHAT}", LIKELY)
        elif call.name in ("amqplib.connect", "amqplib/callback_api.connect") and call.assigned:
            name = call.assigned[0]
            heard = any(
                each.method in ("on", "once")
                and each.receiver_written == name
                and _event(each) in ("close", "error")
                for each in facts.calls
            )
            if not heard and facts.calls_of_method("consume"):
                yield Hit(call.span, f"{call.written}() {_WHAT}", LIKELY)


def _is_lasting_socket(call: Call, facts: Facts) -> bool:
    """Return whether messages are listened to, and the end leads to nothing but a line in a log."""
    name = call.assigned[0] if call.assigned else ""
    if not name or "window" in facts.whole_text:
        return False
    mine = [
        each
        for each in facts.calls
        if each.receiver_written == name.replace("this.", "self.") or each.receiver_written == name
    ]
    listens = any(_event(each) == "message" for each in mine) or f"{name}.onmessage" in facts.whole_text
    if not listens or any(each.method in ("close", "terminate") for each in mine):
        return False
    ends = [each for each in mine if _event(each) in ("close", "end")]
    for each in ends:
        given = each.positional[-1].value if each.positional else None
        if given is not None and not _only_notes(given.text):
            return False
    handlers = [each.value for each in facts.assignments_of(f"{name}.onclose") if each.value is not None]
    return all(_only_notes(each.text) for each in handlers)


def _only_notes(text: str) -> bool:
    """Return whether a function does nothing but write to a log."""
    body = re.sub(r"^[^{]*=>|^function[^{]*", "", text, count=1).strip("{}(); \n")
    calls = re.findall(r"([\w.]+)\s*\(", body)
    return all(re.match(r"(this\.)?(console|log|logger)\.", each) for each in calls)


def _event(call: Call) -> str:
    first = call.argument(place=0)
    return (
        first.value.literal if call.method in ("on", "once", "addEventListener") and first is not None else ""
    )


def _is_repeated(place: Placed, facts: Facts) -> bool:
    """Return whether a loop is around a place, or around the calls of its function."""
    if any(loop.kind in ("endless", "while") for loop in facts.loops_around(place, across=True)):
        return True
    scope = facts.named_function_of(place)
    if scope is None:
        return False
    return any(
        loop.kind in ("endless", "while")
        for caller in callers_of_function(scope, facts)
        for loop in facts.loops_around(caller)
    )


def _python(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.name.endswith(("websockets.connect", "websockets.client.connect")) and call.is_managed:
            bodies = [body for each, body in facts.managed if each is call]
            lasts = any(
                loop.is_async or loop.kind in ("endless", "while")
                for body in bodies
                for loop in facts.within(facts.loops, body)
            )
            if lasts and not _is_repeated(call, facts):
                yield Hit(call.span, f"the connection of {call.written}() {_WHAT}", LIKELY)


def _go(facts: Facts) -> Iterator[Hit]:
    """Yield `for m := range deliveries` of AMQP, which ends without an error when the connection is lost."""
    if not facts.imports_any("github.com/rabbitmq/amqp091-go", "github.com/streadway/amqp"):
        return
    if "NotifyClose" in facts.whole_text:
        return
    made = {
        call.assigned[0] for call in facts.calls_of_method("Consume", "ConsumeWithContext") if call.assigned
    }
    for loop in facts.loops:
        if loop.kind != "each" or loop.over not in made or _is_repeated(loop, facts):
            continue
        scope = facts.function_of(loop)
        if scope is None:
            continue
        after = facts.text(Span(loop.span.end, scope.body.end))
        if re.search(r"\b(Errorf|errors\.|Err\w+|Fatal\w*|panic|os\.Exit)\b", after):
            continue
        if any(call.method == "Go" for call in facts.calls_around(loop)) and "return" in after:
            continue  # Its group waits for it, and returns what it returns.
        yield Hit(
            loop.head,
            f"the loop over {loop.over} ends when the connection is lost, and nothing makes it again",
            LIKELY,
        )


def _okhttp(facts: Facts) -> Iterator[Hit]:
    """Yield `onFailure` of a socket that only writes to a log."""
    if "WebSocketListener" not in facts.whole_text:
        return
    for scope in facts.functions_named("onFailure"):
        if not any("WebSocket" in each.type for each in scope.parameters):
            continue
        calls = [each for each in facts.within(facts.calls, scope.body)]
        if calls and all(
            re.search(r"\b(log|logger|LOG|Log|println|printStackTrace)\b", each.written) for each in calls
        ):
            yield Hit(scope.head, f"the socket {_WHAT}", LIKELY)


def _rust(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named("tokio_tungstenite.connect_async"):
        scope = facts.named_function_of(call)
        if scope is None or _is_repeated(call, facts):
            continue
        reads = any(
            loop.kind == "while" and "next()" in loop.over and is_within(loop.span, scope.body)
            for loop in facts.loops
        )
        if reads:
            yield Hit(call.span, f"the connection of {call.written}() {_WHAT}", LIKELY)


RULE = Rule(
    id="FK-R139",
    slug="connection-not-restored",
    title="Lost connection not made again",
    why="Every deploy of the other side and every network failure ends the connection; the process lives on "
    "and does nothing until it is restarted.",
    fix="Connect again with a growing, random pause when it closes, or end the process to have it restarted.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"WebSocket", b"amqplib", b"websockets", b"Consume", b"connect_async",
        b"AutomaticRecovery", b"eartbeat",
    ),
)  # fmt: skip
