"""Finds intervals that are started for every request, rendering or object, and never cleared."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.disconnects import kept_after_disconnect
from faultkit.code.rules.vocabulary.ended_objects import kept_timers_of_ended
from faultkit.code.rules.vocabulary.periodic_tasks import (
    ended_on_success_only,
    ended_unless_left_early,
    scheduled_per_connection,
)
from faultkit.code.rules.vocabulary.subscriptions import kept_intervals


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    for each in kept_intervals(facts) if facts.language in JAVASCRIPT else ():
        what = f"{each.call.written}() starts an interval for every {each.often}, and none is ever cleared"
        seen.add(each.call.callee)
        yield Hit(each.call.callee, what, LIKELY)
    for kept in kept_timers_of_ended(facts):
        if kept.span not in seen:
            yield Hit(kept.span, kept.what, LIKELY)
    if facts.language == "go":
        found = tuple(ended_unless_left_early(facts))
    else:
        found = (
            *ended_on_success_only(facts),
            *scheduled_per_connection(facts),
            *kept_after_disconnect(facts),
        )
    for span, what in found:
        yield Hit(span, what, LIKELY)


RULE = Rule(
    id="FK-R050",
    slug="interval-leak",
    title="Intervals that are started and never cleared",
    why="Each runs for ever: load and memory grow with every request until the process is restarted.",
    fix="Keep the id and call clearInterval when the work or the connection ends, or start one at the start.",
    kind="reliability",
    severity="medium",
    languages=(*JAVASCRIPT, *GO, *JAVA, *CSHARP, *KOTLIN, *RUST),
    check=_check,
    words=(b"setInterval", b"Timer", b"schedule", b"abort()", b"NewTicker", b"WithCancel", b"interrupt()"),
)
