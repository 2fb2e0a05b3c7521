"""JavaScript: finds listeners that are added for every request or rendering, and never removed."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.subscriptions import kept_listeners


def _check(facts: Facts) -> Iterator[Hit]:
    for each in kept_listeners(facts):
        what = f"{each.call.written}() adds a listener for every {each.often}, and none is ever removed"
        yield Hit(each.call.callee, what, LIKELY)


RULE = Rule(
    id="FK-R049",
    slug="listener-leak",
    title="Listeners that are added and never removed",
    why="Each stays with everything that it refers to: memory grows, and every event is handled once more "
    "than before.",
    fix="Use once, remove the listener when the work is done, or add it when the program starts.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
)
