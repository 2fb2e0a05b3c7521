"""JavaScript: finds streams that are written to in a loop whether they take more or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.failures import handler_around

_WAITS = lazy_regex(r"drain|writableNeedDrain|pipeline\(|\.pipe\(|pause\(|[bB]ackpressure|\.cork\(")
_STREAMS = lazy_regex(
    r"(?:createWriteStream|createGzip|createBrotliCompress|createDeflate|PassThrough|Transform|Writable|ServerResponse"
    r"|createConnection|net\.connect|http\.request|https\.request)\b"
)
_RESPONSES = frozenset(("res", "response", "reply.raw", "ctx.res"))
_MORE = lazy_regex(
    r"cursor|stream|rows|iterat|for_?each|query|scan|read|items|records|chunks|lines|pages", re.IGNORECASE
)


_CLIENTS = lazy_regex(
    r"(?:^|[._#])\w*(?:clients|sockets|subscribers|connections|peers|viewers|listeners|members|sessions|conns)"
    r"(?:\.(?:values|keys)\(\)|\.get\([^()]*\))?\]?\)?(?:\s*\?\?.*)?$",
    re.IGNORECASE,
)
_LOOKS = (b"bufferedamount", b"backpressure", b"writablelength", b"writableneeddrain", b"getbufferedamount")
_WEBSOCKETS = ("ws", "isows", "uWebSockets.js", "@fastify/websocket", "express-ws", "bun")


def _to_all(facts: Facts) -> Iterator[Hit]:
    """Yield messages to each open connection that look at no backlog: what a slow one does not take stays."""
    if not facts.imports_any(*_WEBSOCKETS) or facts.syntax.has_any(*_LOOKS):
        return
    for call in facts.calls_of_method("send"):
        around = facts.loops_around(call)
        if (
            not around
            or not call.arguments
            or call.is_awaited
            or not _CLIENTS.search(around[-1].over.strip())
        ):
            continue
        items = {name.rpartition(" ")[2] for name in around[-1].targets}
        if call.receiver_written.partition(".")[0] in items and facts.function_of(call) is not None:
            what = f"{call.written}() keeps what a slow client does not take in memory, without a limit"
            yield Hit(call.span, what, POSSIBLE)


def _check(facts: Facts) -> Iterator[Hit]:
    yield from _to_all(facts)
    for call in facts.calls_of_method("write"):
        if not call.is_discarded or call.is_awaited or not call.arguments:
            continue
        scope = facts.named_function_of(call)
        around = facts.text(scope.span) if scope is not None else facts.whole_text
        if _waits(around) or not _is_stream(call, facts):
            continue
        if _is_repeated(call, facts):
            what = f"{call.written}() is called again whether the other side takes the data or not"
            yield Hit(call.span, what, LIKELY)


@lru_cache(maxsize=4)
def _waits(text: str) -> bool:
    return _WAITS.search(text) is not None


def _is_stream(call: Call, facts: Facts) -> bool:
    owner = call.receiver_written
    if owner in _RESPONSES:
        scope = facts.named_function_of(call)
        callers = () if scope is None else facts.callers_of(scope)
        return any(handler_around(each, facts) is not None for each in (call, *callers))
    last = owner.rpartition(".")[2]
    return any(
        each.value is not None and _STREAMS.search(each.value.text)
        for name in (owner, f"self.{last}")
        for each in facts.assignments_of(name)
        if name in each.targets
    )


def _is_repeated(call: Call, facts: Facts) -> bool:
    """Return whether it runs for each item of a source that may be long."""
    for loop in facts.loops_around(call):
        if loop.is_async or (loop.kind in ("each", "while", "comprehension") and _MORE.search(loop.over)):
            return True
    for each in facts.calls_around(call):
        if each.method != "on":
            continue
        first = each.argument(place=0)
        listens = first is not None and first.value.literal in ("data", "row", "line", "message")
        if listens and any(is_within(call.span, one.value.span) for one in each.positional[1:]):
            return True
    return False


RULE = Rule(
    id="FK-R162",
    slug="backpressure-ignored",
    title="Stream written to without waiting",
    why="If the reader is slow, all that was written is kept in memory: the export of a large table, or one "
    "client of a broadcast that stops reading, ends the process.",
    fix="Use pipeline(), or wait for 'drain' when write() returns false; drop clients whose bufferedAmount "
    "grows.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
    words=(b".write(", b".send("),
)
