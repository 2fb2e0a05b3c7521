"""Finds waits between tries that go on after the caller has given up.

Evidence that it matters: the wait is a second or longer, or its length is not known. Shorter ones are
`POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.waits import is_sleep

_TYPES = {
    "go": "context.Context",
    "typescript": "AbortSignal",
    "tsx": "AbortSignal",
    "javascript": "AbortSignal",
}
_SHORT = lazy_regex(r"^(\d{1,2}\s*\*\s*)?time\.(Milli|Micro|Nano)second$|^\d{1,2}$")
"""A wait of less than a tenth of a second delays no one."""
_BRIEF = lazy_regex(r"^(\d{1,3}\s*\*\s*)?time\.Millisecond$|^time\.Millisecond\s*\*\s*\d{1,3}$|^\d{1,3}$")
"""A wait of less than a second."""
_RANDOM = lazy_regex(r"\brand\.\w+\([^*]*\btime\.(Milli)?[sS]econd\)+$")
"""A random part of a second."""


def _check(facts: Facts) -> Iterator[Hit]:
    loops = [each.loop for each in retries(facts) if each.loop is not None]
    for loop in loops:
        scope = facts.named_function_of(loop)
        name = "" if scope is None else _cancels(scope, facts)
        if not name or _looks(name, facts.text(loop.span)) or facts.is_deferred(loop):
            continue
        for call in facts.within(facts.calls, loop.body):
            if _waits(call, facts) and not re.search(rf"\b{re.escape(name)}\b", facts.text(call.span)):
                what = f"{call.written}() goes on after {name} has been cancelled"
                yield Hit(call.span, what, POSSIBLE if _is_brief(call, facts) else LIKELY)
                break


def _is_brief(call: Call, facts: Facts) -> bool:
    """Return whether a wait is shorter than a second, also by a constant or a random part of one."""
    first = call.argument(place=0)
    text = "" if first is None else first.value.text
    if first is not None and first.value.shape == "name":
        made = facts.assignments_of(text.rpartition(".")[2])
        text = made[0].value.text if len(made) == 1 and made[0].value is not None else text
    return _BRIEF.match(text) is not None or _RANDOM.search(text) is not None


def _cancels(scope: Scope, facts: Facts) -> str:
    """Return the parameter by which the caller ends a function early; empty if it has none."""
    wanted = _TYPES.get(facts.language, "-")
    for each in scope.parameters:
        if each.type == wanted or (each.name == "signal" and facts.language == "javascript"):
            return each.name
    return ""


def _looks(name: str, text: str) -> bool:
    return (
        re.search(rf"\b{re.escape(name)}\??\.(Done|Err|aborted|throwIfAborted|addEventListener)\b", text)
        is not None
    )


def _waits(call: Call, facts: Facts) -> bool:
    if facts.language == "go":
        given = call.argument(place=0)
        return call.name == "time.Sleep" and given is not None and not _SHORT.match(given.value.text)
    return is_sleep(call) and (call.is_awaited or call.method == "setTimeout")


RULE = Rule(
    id="FK-R087",
    slug="wait-not-cancelled",
    title="Wait between tries that ignores cancellation",
    why="A caller that has given up, or a process that stops, waits through the rest of the schedule: a "
    "shutdown takes until it is killed, and work goes on for no one.",
    fix="Wait for the time or the cancellation, whichever comes first: select on ctx.Done() and time.After, "
    "or pass the signal to the wait.",
    kind="reliability",
    severity="medium",
    languages=(*GO, *JAVASCRIPT),
    check=_check,
)
