"""Context managers of Python that suppress every exception of their block, whatever it is.

`__exit__` that returns something true ends the exception. A value that does not depend on the exception,
such as `return self._conn is not None`, does so for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope, Step, is_within
from faultkit.code.languages.syntax import Span

_MEANT = lazy_regex(r"suppress|swallow|ignor|silen", re.IGNORECASE)
_MEANT_BY_NAME = lazy_regex(
    r"suppress|swallow|ignor|silen|expect|raises|assert|quiet|catch|captur", re.IGNORECASE
)
_FALSE = lazy_regex(r"(?:False|None|0)?")
_PLAIN = lazy_regex(r"[\w.\s]+|\bnot\b|\bis\b|[=!<>]=?")


def suppressing_exits(facts: Facts) -> Iterator[Span]:
    """Yield what such functions return."""
    if facts.language != "python" or not facts.syntax.has_any(b"__exit__", b"__aexit__"):
        return
    for scope in facts.functions_named("__exit__", "__aexit__"):
        if _MEANT.search(facts.text(scope.span)) or _MEANT_BY_NAME.search(scope.owner):
            continue
        for step in facts.own(facts.steps, scope):
            if step.kind == "return" and _is_always_true(step, scope, facts):
                yield step.span
                break


def _is_always_true(step: Step, scope: Scope, facts: Facts) -> bool:
    text = step.text.strip()
    if _FALSE.fullmatch(text) or "(" in text or _PLAIN.match(text) is None:
        return False
    given = [each.name.lstrip("*") for each in scope.parameters[1:]]
    asked = [text]
    for arm in facts.within(facts.arms, scope.body):
        # An arm that leaves before is what exceptions take: `if kind is not None: return False`.
        if is_within(step.span, arm.span) or (arm.leaves and arm.span.end <= step.span.start):
            asked.append(facts.text(Span(arm.fork.start, arm.span.start)))
    if any(re.search(rf"\b{re.escape(name)}\b", each) for name in given for each in asked):
        return False
    if text == "True":
        return True
    # A variable may hold what became of the exception.
    name = text.removeprefix("not ").strip()
    return not name.isidentifier() and not re.fullmatch(r"self\.\w+", name)
