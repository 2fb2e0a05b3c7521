"""JavaScript: finds streams that are written to in a loop whether they take more or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.failures import handler_around

_WAITS = re.compile(r"drain|writableNeedDrain|pipeline\(|\.pipe\(|pause\(|[bB]ackpressure|\.cork\(")
_STREAMS = re.compile(
    r"(?:createWriteStream|createGzip|createBrotliCompress|createDeflate|PassThrough|Transform|Writable|ServerResponse"
    r"|createConnection|net\.connect|http\.request|https\.request)\b"
)
_RESPONSES = frozenset(("res", "response", "reply.raw", "ctx.res"))
_MORE = re.compile(
    r"cursor|stream|rows|iterat|for_?each|query|scan|read|items|records|chunks|lines|pages", re.IGNORECASE
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("write"):
        if not call.is_discarded or call.is_awaited or not call.arguments:
            continue
        scope = facts.named_function_of(call)
        around = facts.text(scope.span) if scope is not None else facts.whole_text
        if _WAITS.search(around) or not _is_stream(call, facts):
            continue
        if _is_repeated(call, facts):
            what = f"{call.written}() is called again whether the other side takes the data or not"
            yield Hit(call.span, what, LIKELY)


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
        for each in facts.assignments
        if name in each.targets
    )


def _is_repeated(call: Call, facts: Facts) -> bool:
    """Return whether it runs for each item of a source that may be long."""
    for loop in facts.loops_around(call):
        if loop.is_async or (loop.kind in ("each", "while", "comprehension") and _MORE.search(loop.over)):
            return True
    for each in facts.calls_of_method("on"):
        first = each.argument(place=0)
        listens = first is not None and first.value.literal in ("data", "row", "line", "message")
        if listens and any(is_within(call.span, one.value.span) for one in each.positional[1:]):
            return True
    return False


RULE = Rule(
    id="FK-R162",
    slug="backpressure-ignored",
    title="Stream written to without waiting",
    why="If the reader is slow, all that was written is kept in memory: the export of a large table ends the "
    "process.",
    fix="Use pipeline(), or wait for 'drain' when write() returns false.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
    words=(b".write(",),
)
