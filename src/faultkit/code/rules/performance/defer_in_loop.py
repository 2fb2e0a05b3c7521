"""Go: finds `defer` in a loop, which keeps everything open until the function ends."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import CERTAIN, GO, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.is_deferred and facts.loops_around(call) and not _is_once(call, facts):
            yield Hit(
                call.span, f"{call.written}() runs only when the function ends, not with each round", CERTAIN
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
