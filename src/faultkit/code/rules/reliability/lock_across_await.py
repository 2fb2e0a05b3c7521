"""Finds locks of threads that are held while a task waits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Node, Span
from faultkit.code.rules.rule import LIKELY, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.failures import node_at

_TAKES = ("lock", "read", "write")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("unwrap", "expect"):
        taken = call.origin
        scope = facts.function_of(call)
        if taken is None or taken.method not in _TAKES or taken.arguments or taken.is_awaited:
            continue
        if scope is None or not scope.is_async or len(call.assigned) != 1 or call.assigned == ("_",):
            continue
        if "await_holding_lock" in facts.text(Span(max(0, scope.span.start), scope.body.start)):
            continue
        waits = _first_wait(call, scope, facts)
        if waits is not None:
            lock = taken.receiver_written
            what = f"{call.assigned[0]} holds the lock {lock} while {waits.written}() is awaited"
            yield Hit(call.span, what, LIKELY)


def _first_wait(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the first awaited call between the lock and the end of its block, or of its guard."""
    block: Node | None = node_at(call.span, facts)
    while block is not None and block.type != "block":
        block = block.parent
    if block is None:
        return None
    rest = Span(call.span.end, block.end_byte)
    name = call.assigned[0]
    for each in facts.within(facts.calls, rest):
        if each.method == "drop" and re.search(rf"\b{re.escape(name)}\b", facts.text(each.span)):
            return None
        if each.is_awaited and facts.function_of(each) is scope:
            return each
    return None


RULE = Rule(
    id="FK-R071",
    slug="lock-held-across-await",
    title="Lock of threads held across an await",
    why="Other tasks that need the lock block their threads while this one waits: with few threads, all of "
    "them stand still, and the task that could go on has none to run on.",
    fix="End the guard before the await, in a block of its own or by drop(), or use the lock of the runtime.",
    kind="reliability",
    severity="high",
    languages=RUST,
    check=_check,
)
