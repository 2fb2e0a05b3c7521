"""Finds endless loops without a pause, which take a whole core."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule

_POLLS = frozenset(
    (
        "poll", "get_nowait", "empty", "is_alive", "isAlive", "isDone", "done", "qsize", "is_set",
        "locked", "alive", "ready", "now", "len", "isEmpty", "size",
    )
)  # fmt: skip
_LEAVES = ("return", "break", "raise", "yield", "await")


def _check(facts: Facts) -> Iterator[Hit]:
    for loop in facts.loops:
        if loop.kind == "while":
            yield from _spinning(loop.body, loop.span, loop.over, facts)
        if loop.kind != "endless":
            continue
        steps = [step for step in facts.within(facts.steps, loop.body) if step.kind in _LEAVES]
        calls = list(facts.within(facts.calls, loop.body))
        if steps or not all(map(_is_quick, calls)):
            continue
        yield Hit(loop.head, "this loop has no end and no pause", LIKELY)


def _spinning(body: Span, span: Span, condition: str, facts: Facts) -> Iterator[Hit]:
    """Yield loops that wait by polling, such as `while not done: pass`."""
    if [
        *facts.within(facts.calls, body),
        *facts.within(facts.assignments, body),
        *facts.within(facts.steps, body),
    ]:
        return
    if facts.syntax.source[body.start : body.end].strip(b"{} \n;") not in (b"", b"pass", b"...", b"continue"):
        return
    called = re.findall(r"(\w+)\s*\(", condition)
    if called and (any(word not in _POLLS for word in called) or _takes(called, facts)):
        return
    yield Hit(Span(span.start, body.start), f"this waits for {condition[:40]} without a pause", LIKELY)


def _takes(called: list[str], facts: Facts) -> bool:
    """Return whether the condition itself works: `queue.poll()` in Java takes an item in every round."""
    return "get_nowait" in called or ("poll" in called and facts.language == "java")


def _is_quick(call: Call) -> bool:
    """Return whether a call neither waits nor ends the loop, judged by its name."""
    return call.method in _POLLS or is_logging(call)


RULE = Rule(
    id="FK-R040",
    slug="busy-loop",
    title="Loop without an end or a pause",
    why="It takes a whole core for nothing, and starves what it waits for.",
    fix="Wait for an event, a queue or a condition with a timeout, or sleep between checks.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
