"""Go: finds `time.After` in a select that runs again and again.

Since Go 1.23 the timers are collected: where go.mod names that version or a later one, they are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.channels import cases_of, channel_uses

_LEAVES = lazy_regex(r"(return|goto|break\s+\w)\b|panic\(|os\.Exit\(|log\.Fatal")


def _check(facts: Facts) -> Iterator[Hit]:
    calls = facts.calls_named("time.After")
    if not calls or facts.project.language_version >= (1, 23):
        return
    uses = channel_uses(facts)
    for call in calls:
        use = next(
            (each for each in uses if is_within(call.span, each.span) and each.select is not None), None
        )
        if use is None or use.select is None:
            continue
        loops = [loop for loop in facts.loops_around(call) if is_within(use.select, loop.body)]
        # Only a case after which the loop goes on leaves a timer behind.
        others = [
            head
            for head, body in cases_of(use.select, facts)
            if head and "time.After" not in head and not _leaves(body)
        ]
        if loops and others and _stands_in(use.select, loops[-1], facts):
            what = (
                f"{call.written}() starts anew in every round; before Go 1.23 each timer lives until it fires"
            )
            yield Hit(call.span, what, POSSIBLE)


def _leaves(body: str) -> bool:
    """Return whether a case ends the loop whatever happens: a `return` under a condition does not."""
    depth = 0
    for line in body.splitlines():
        if depth == 0 and _LEAVES.match(line.strip()):
            return True
        depth += len(re.findall(r"[{(]", line)) - len(re.findall(r"[})]", line))
    return False


def _stands_in(select: Span, loop: Loop, facts: Facts) -> bool:
    """Return whether a select runs in every round, not only under a condition."""
    return not any(
        step.kind == "branch" and step.span != select and is_within(select, step.span)
        for step in facts.within(facts.steps, loop.body)
    )


RULE = Rule(
    id="FK-R047",
    slug="timer-made-in-every-round",
    title="time.After in a loop",
    why="Before Go 1.23 a timer cannot be collected until it fires: a busy channel leaves one behind for "
    "every message. In all versions the limit starts anew with every message.",
    fix="Make one time.NewTimer or time.NewTicker before the loop, reset it where needed, and stop it.",
    kind="reliability",
    severity="low",
    languages=GO,
    check=_check,
    by_default=False,
)
