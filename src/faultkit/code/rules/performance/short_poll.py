"""Finds polling with a very short wait."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.repetition import is_in_retry_loop, uses_item
from faultkit.code.rules.vocabulary.waits import waits_in

_SHORT_S = 0.02
_UNITS_S = {"Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1.0}
_LOOKS = lazy_regex(
    r"\blen\(|\.length\b|\.size\(\)|isEmpty|empty\(|\.qsize|\.ready|is_set\(|^\(?(not |!)?[\w.]+\)?$"
)
_BOUNDS = lazy_regex(
    r"deadline|timeout|time\.Now|Before\(|After\(|monotonic|retries|attempt|tries|elapsed|Since\(|until", re.I
)
_PER_S = {"time.sleep": 1.0, "asyncio.sleep": 1.0, "Thread.sleep": 1e-3, "java.lang.Thread.sleep": 1e-3}


_OWN_WAITS = ("sleep", "delay", "timers/promises.setTimeout")
_WAITS = frozenset((*_PER_S, "time.Sleep", "time.After", "setTimeout", "timers/promises.setTimeout"))


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        length_s = _length_s(call)
        if length_s is None or not 0 < length_s < _SHORT_S:
            continue
        around = facts.loops_around(call, across=call.name == "setTimeout")
        if around and around[-1].kind in ("while", "endless") and not _is_bounded(call, around[-1], facts):
            what = f"{call.written}() looks {round(1 / length_s)} times a second"
            yield Hit(call.span, what, LIKELY)
    yield from _without_pause(facts)
    yield from _spinning(facts)


def _is_bounded(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether it ends after a time or some tries, or waits only after a failure."""
    if _BOUNDS.search(loop.over) or is_in_retry_loop(call, facts):
        return True
    if any(
        step.kind == "branch" and _BOUNDS.search(step.text) for step in facts.within(facts.steps, loop.body)
    ):
        return True
    return any(
        is_within(call.span, handler.span)
        for each in facts.within(facts.tries, loop.body)
        for handler in each.handlers
    )


def _without_pause(facts: Facts) -> Iterator[Hit]:
    """Yield loops that ask the same question in every round without a wait."""
    for request in http_requests(facts):
        call, around = request.call, facts.loops_around(request.call)
        if not request.is_safe or not around or around[-1].kind not in ("while", "endless"):
            continue
        loop = around[-1]
        if waits_in(loop, facts) or is_in_retry_loop(call, facts) or uses_item(call, loop, facts):
            continue
        yield Hit(call.span, f"{call.written}() asks again at once, for as long as the answer is no", LIKELY)


def _spinning(facts: Facts) -> Iterator[Hit]:
    """Yield loops that hold only a condition and no wait: `for { if len(jobs) > 0 { … } }`."""
    for loop in facts.loops:
        if loop.kind != "endless" or waits_in(loop, facts):
            continue
        inner = facts.text(loop.body).strip().removeprefix("{").removesuffix("}").strip()
        inner = re.sub(r"^((//|#).*\n\s*)+", "", inner)
        for step in facts.within(facts.steps, loop.body):
            if step.kind != "branch" or facts.text(step.span) != inner or not inner.startswith("if"):
                continue
            if _LOOKS.search(step.text) and not re.search(r"\belse\b|\belif\b|\bawait\b|<-", inner):
                yield Hit(loop.head, f"this checks {step.text[:40]} in a tight loop", LIKELY, "medium")


def _length_s(call: Call) -> float | None:
    if call.name not in _WAITS and call.written not in _OWN_WAITS:
        return None
    first = call.argument(place=0)
    text = "" if first is None else first.value.text.replace("_", "")
    if call.name in _PER_S:
        return float(text) * _PER_S[call.name] if re.fullmatch(r"\d*\.?\d+", text) else None
    if call.name in ("time.Sleep", "time.After"):
        found = re.fullmatch(r"(?:(\d+)\s*\*\s*)?time\.(\w+)", text)
        if found and found[2] in _UNITS_S:
            return float(found[1] or 1) * _UNITS_S[found[2]]
        return None
    if call.name == "setTimeout":
        # `await new Promise((resolve) => setTimeout(resolve, 1))`.
        given = call.argument(place=1)
        text = "" if given is None else given.value.text
        return float(text) / 1000 if call.is_returned and re.fullmatch(r"\d+", text) else None
    return float(text) / 1000 if call.is_awaited and re.fullmatch(r"\d+", text) else None


RULE = Rule(
    id="FK-P020",
    slug="short-poll",
    title="Polling with a very short wait",
    why="It wakes the processor, and often a database or lock, hundreds of times a second to learn nothing.",
    fix="Wait for an event, condition or notification with a timeout, or look less often.",
    kind="performance",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
    by_default=False,
)
