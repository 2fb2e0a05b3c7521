"""Go: finds `defer` in a loop, which keeps everything open until the function ends.

What is closed, cancelled or unlocked is held by the system or by others, so that it matters; other deferred
calls are possible only. What a goroutine or a later part of the function uses must stay open."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import CERTAIN, GO, POSSIBLE, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if not call.is_deferred or not facts.loops_around(call) or _is_once(call, facts):
            continue
        if not _is_used_longer(call, facts):
            what = f"{call.written}() runs only when the function ends, not with each round"
            yield Hit(call.span, what, CERTAIN if _FREES.search(call.written) else POSSIBLE)


_FREES = lazy_regex(
    r"(^|\.)(Close\w*|[cC]ancel\w*|R?Unlock|Rollback|Release|Free|Body\.Close|Remove(All)?)$|[cC]ancel\w*$"
)


def _is_used_longer(call: Call, facts: Facts) -> bool:
    """Return whether a function that is given away in the same round uses the object after the round."""
    loop, owner = facts.loops_around(call)[-1], call.receiver_written.partition(".")[0]
    if not owner:
        return False
    return any(
        scope.is_anonymous
        and scope.span.start > call.span.end
        and re.search(rf"(?<![\w.]){re.escape(owner)}\b", facts.text(scope.body))
        for scope in facts.within(facts.scopes, loop.body)
    )


def _is_once(call: Call, facts: Facts) -> bool:
    """Return whether it is deferred in one round: under a condition, or right before the loop is left."""
    loop = facts.loops_around(call)[-1]
    inside = tuple(facts.within(facts.steps, loop.body))
    if any(step.kind == "branch" and is_within(call.span, step.span) for step in inside):
        return True
    last = [
        step for step in inside if step.kind in ("break", "return") and step.span.end >= loop.body.end - 3
    ]
    return bool(last)


RULE = Rule(
    id="FK-P023",
    slug="defer-in-loop",
    title="Defer in a loop",
    why="Files, bodies and locks pile up until the function returns; a long list runs out of descriptors.",
    fix="Move the body of the loop into a function of its own, or close at the end of each round.",
    kind="performance",
    severity="medium",
    languages=GO,
    check=_check,
)
