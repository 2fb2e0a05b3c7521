"""Go: finds `time.After` in a select that runs again and again."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts, is_within
from faultkit.code.rules.rule import GO, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.channels import cases_of, channel_uses


def _check(facts: Facts) -> Iterator[Hit]:
    calls = facts.calls_named("time.After")
    if not calls:
        return
    uses = channel_uses(facts)
    for call in calls:
        use = next(
            (each for each in uses if is_within(call.span, each.span) and each.select is not None), None
        )
        if use is None or use.select is None:
            continue
        loops = [loop for loop in facts.loops_around(call) if is_within(use.select, loop.body)]
        others = [head for head, _ in cases_of(use.select, facts) if head and "time.After" not in head]
        waits = [
            head for head in others if "Done()" not in head and "quit" not in head and "stop" not in head
        ]
        if loops and waits and loops[-1].kind in ("endless", "while", "each"):
            what = f"{call.written}() makes a timer in every round, and each lives until it fires"
            yield Hit(call.span, what, POSSIBLE)


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
)
