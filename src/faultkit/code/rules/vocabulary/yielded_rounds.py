"""Loops whose only pause is to let others run, so that they ask again as fast as they are answered.

    while (!await locks.LockTakeAsync(key, owner, lease))     while True:
    {                                                             job = await api.job(job_id)
        await Task.Yield();                                       if job.done: return job
    }                                                             await asyncio.sleep(0)

Loops that work in each round and let others run between are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.idle_rounds import IdleRound, asks_service, names_of_answer
from faultkit.code.rules.vocabulary.unpaused_rounds import asks_something_else, kind_of_call
from faultkit.code.rules.vocabulary.waits import is_yield

_METHODS = (
    "Yield", "yield", "yield_now", "Gosched", "onSpinWait", "SpinWait", "checkpoint", "sched_yield",
    "setImmediate", "sleep", "Sleep", "delay", "Delay", "setTimeout", "spin_loop",
)  # fmt: skip


def yielded_rounds(facts: Facts) -> Iterator[IdleRound]:
    """Yield loops in which a round without work only lets others run."""
    for call in facts.calls_of_method(*_METHODS):
        if not is_yield(call):
            continue
        place = _statement(call, facts)
        loop = next(reversed(facts.loops_around(place)), None)
        if loop is not None and loop.kind in ("endless", "while") and not _is_last(place, loop, facts):
            asked = _asked(place, loop, facts)
            if asked is not None:
                what = f"{asked.written}() is called again at once: {call.written}() waits for nothing"
                yield IdleRound(asked, Span(loop.span.start, call.span.end), what, loop)


def _statement(call: Call, facts: Facts) -> Placed:
    """Return what a loop waits for: `new Promise((r) => setImmediate(r))`."""
    around = [each for each in facts.calls_around(call) if each.written == "Promise"]
    return around[-1] if around else call


def _is_last(place: Placed, loop: Loop, facts: Facts) -> bool:
    """Return whether a loop is left after the yield."""
    return any(
        arm.leaves == "function" and is_within(place.span, arm.span)
        for arm in facts.within(facts.arms, loop.body)
    )


def _asks_outside(call: Call, facts: Facts) -> bool:
    return (call.is_awaited or facts.language in ("go", "java")) and asks_service(call, facts)


def _asked(place: Placed, loop: Loop, facts: Facts) -> Call | None:
    """Return what a round asks on its way to a place; None if it does something else there."""
    asked: Call | None = None
    names = set[str]()
    for call in facts.within(facts.calls, loop.span):
        if is_within(call.span, place.span) or is_yield(call) or is_logging(call):
            continue
        if facts.are_exclusive(call, place) or (asked is not None and is_within(call.span, asked.span)):
            continue
        if call.constructs and not call.is_awaited:
            continue
        kind = kind_of_call(call, names, facts)
        if kind in ("unknown", "quick") and call.assigned and _asks_outside(call, facts):
            kind = "asks"
        if kind == "asks" and asked is None:
            if asks_something_else(call, loop, facts):
                return None
            asked = call
            names.update(names_of_answer(call, loop, facts))
        elif kind in ("waits", "unknown"):
            return None
    return asked
