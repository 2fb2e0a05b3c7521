"""JavaScript: finds intervals that are started for every request or rendering, and never cleared."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.subscriptions import kept_intervals


def _check(facts: Facts) -> Iterator[Hit]:
    for each in kept_intervals(facts):
        what = f"{each.call.written}() starts an interval for every {each.often}, and none is ever cleared"
        yield Hit(each.call.callee, what, LIKELY)


RULE = Rule(
    id="FK-R050",
    slug="interval-leak",
    title="Intervals that are started and never cleared",
    why="Each runs for ever: load and memory grow with every request until the process is restarted.",
    fix="Keep the id and call clearInterval when the work or the connection ends, or start one at the start.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
)
