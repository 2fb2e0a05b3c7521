"""Go: finds `defer` in a loop, which keeps everything open until the function ends."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import CERTAIN, GO, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.is_deferred and facts.loops_around(call):
            yield Hit(
                call.span, f"{call.written}() runs only when the function ends, not with each round", CERTAIN
            )


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
