"""Finds insertion and removal at the front of a list in a loop, which moves all other items."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Loop, Scope
from faultkit.code.rules.rule import JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_data, is_over_data, is_queue
from faultkit.code.rules.vocabulary.repetition import is_over_items


def _check(facts: Facts) -> Iterator[Hit]:
    seen: set[tuple[str, Scope | None]] = set()
    for call in facts.calls_of_method("insert", "pop", "shift", "unshift", "remove"):
        loops = _loops(call, facts)
        if not loops or not call.receiver_written or not _is_front(call, loops, facts):
            continue
        if _ends_the_loop(call, loops[-1], facts) or not _may_be_long(call, loops[-1], facts):
            continue
        place = (call.receiver_written, facts.function_of(call))
        if place in seen:
            continue
        seen.add(place)
        yield Hit(call.span, f"{call.written}() moves every other item of the list", LIKELY)


def _loops(call: Call, facts: Facts) -> tuple[Loop, ...]:
    """Return the loops around a call, also that in whose head it stands: `while ((job = queue.shift()))`."""
    heads = [
        loop
        for loop in facts.loops
        if loop.kind == "while" and loop.span.start <= call.span.start < loop.body.start
    ]
    return (*facts.loops_around(call), *heads)


def _may_be_long(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the list grows with the data or in the loop, and is not merely cut to a length."""
    name = call.receiver_written
    if call.method in ("insert", "unshift"):
        return is_over_data(loop, facts) or loop.kind in ("while", "endless")
    if loop.kind not in ("while", "endless"):
        return False
    over = loop.over.replace("=>", "")
    if re.search(r"[<>]=?\s*[^0\s=]", over) or re.search(r"\[0\]", over):
        return False
    grows = any(
        each.receiver_written == name and each.method in ("append", "extend", "push", "insert")
        for each in facts.within(facts.calls, loop.body)
    )
    if is_queue(name):
        return True
    return is_data(name) and (grows or not name.endswith(("lines", "Ids", "ids")))


def _ends_the_loop(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether it runs once, right before leaving: `rest.insert(0, x)`, then `return`."""
    after = facts.syntax.source[call.span.end : loop.span.end].lstrip(b" \t\r\n;)")
    return after.startswith((b"return", b"break", b"raise", b"throw"))


def _is_front(call: Call, loops: tuple[Loop, ...], facts: Facts) -> bool:
    first = call.argument(place=0)
    zero = first is not None and first.value.text == "0"
    if facts.language == "python":
        if call.method == "insert":
            return zero and len(call.positional) == 2
        return zero and call.method == "pop" and len(call.positional) == 1
    if facts.language == "java":
        # `remove(0)` of a linked list or a deque is cheap.
        return zero and call.method == "remove" and call.receiver in ("java.util.ArrayList", "java.util.List")
    if call.method == "unshift":
        return any(map(is_over_items, loops))
    # Engines move small arrays quickly; only an array that drives the loop is reported.
    length = f"{call.receiver_written.replace('self.', 'this.')}.length"
    return (
        call.method == "shift"
        and not call.arguments
        and any(
            (loop.kind == "while" and length in loop.over)
            or (loop.kind in ("while", "endless") and is_queue(call.receiver_written))
            for loop in loops
        )
    )


RULE = Rule(
    id="FK-P008",
    slug="front-of-list-in-loop",
    title="Work at the front of a list in a loop",
    why="Each step moves all other items, so the work grows with the square of the list.",
    fix="Use a deque, walk with an index, or append and reverse once.",
    kind="performance",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA),
    check=_check,
    by_default=False,
)
