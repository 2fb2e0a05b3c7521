"""Finds listeners that are added for every request, rendering or object, and never removed."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, CSHARP, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.ended_objects import kept_listeners_of_ended
from faultkit.code.rules.vocabulary.subscriptions import kept_listeners
from faultkit.code.rules.vocabulary.wrong_removals import (
    kept_after_timeout,
    kept_registrations,
    removals_of_new_functions,
    removed_on_success_only,
)


def _check(facts: Facts) -> Iterator[Hit]:
    told = set[Span]()
    for each in kept_listeners(facts) if facts.language in JAVASCRIPT else ():
        what = f"{each.call.written}() adds a listener for every {each.often}, and none is ever removed"
        told.add(each.call.callee)
        yield Hit(each.call.callee, what, LIKELY)
    for kept in kept_listeners_of_ended(facts):
        if kept.span not in told:
            yield Hit(kept.span, kept.what, LIKELY)
    for span, what in removals_of_new_functions(facts):
        yield Hit(span, what, CERTAIN)
    kept_ones = {**dict.fromkeys(JAVASCRIPT, kept_after_timeout), "csharp": kept_registrations}
    for span, what in removed_on_success_only(facts) if facts.language in JAVASCRIPT else ():
        yield Hit(span, what, LIKELY)
    for span, what in kept_ones[facts.language](facts) if facts.language in kept_ones else ():
        yield Hit(span, what, LIKELY)


RULE = Rule(
    id="FK-R049",
    slug="listener-leak",
    title="Listeners that are added and never removed",
    why="Each stays with everything that it refers to: memory grows, and every event is handled once more "
    "than before.",
    fix="Use once, remove the listener when the work is done, by the function that was added, or add it when "
    "the program starts.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
