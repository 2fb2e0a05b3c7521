"""Values that a loop changes from round to round, by which a retry is told from a search.

A retry does one thing again; a search gives its call another folder, name or number each time.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.waits import is_sleep

COUNTED = lazy_regex(
    r"retr|attempt|backoff|delay|range|tries|trial|deadline|monotonic|max|left|<", re.IGNORECASE
)
"""Words in the head of a loop that retries, in contrast to one that iterates over work."""
ROUND = lazy_regex(r"attempt|retr|tr(y|ies)|round|^_|^[inkx]$", re.IGNORECASE)


def is_given(name: str, span: Span, facts: Facts) -> bool:
    """Return whether a call in the span has a variable as an argument, or is made on it."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*\*\*)")
    return any(
        call.written.partition(".")[0] == name
        or any(word.search(argument.value.text) for argument in call.arguments)
        for call in facts.within(facts.calls, span)
        if not is_logging(call) and not is_sleep(call)
    )


_FAILED = lazy_regex(r"fail|err|count(?!er)|time|wait|sleep|second|_ms$", re.IGNORECASE)


def moved_in(span: Span, facts: Facts) -> set[str]:
    """Return variables that are raised in a span and count neither tries nor failures: `offset += 1`."""
    return {
        each.targets[0]
        for each in facts.within(facts.assignments, span)
        if each.operator in ("+=", "++")
        and each.targets[0].isidentifier()
        and not any(word.search(each.targets[0]) for word in (COUNTED, ROUND, _FAILED))
    }


def made_of(names: set[str], span: Span, facts: Facts) -> set[str]:
    """Return names with the variables that a span sets from them: of `path := join(folder, "x")` the path."""
    found = set(names)
    for each in facts.within(facts.assignments, span) if names else ():
        if each.value is not None and found & {*re.findall(r"[A-Za-z_]\w*", each.value.text)}:
            found.update(name for name in each.targets if name.isidentifier())
    return found


def changed_in(span: Span, facts: Facts) -> set[str]:
    """Return the variables that get another value in a span, without counters and waits."""
    return {
        name.partition("[")[0]
        for assigned in facts.within(facts.assignments, span)
        if assigned.operator == "=" and not assigned.targets[0].startswith("self.")
        for name in assigned.targets
        if name.partition("[")[0].isidentifier() and not COUNTED.search(name) and not ROUND.search(name)
    }
