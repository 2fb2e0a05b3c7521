"""Finds C# methods whose errors end the process: `async void`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import is_for_screen

_VOID = re.compile(r"\basync\s+(?:\w+\s+)*void\s+\w+|\bvoid\s+\w+")


def _check(facts: Facts) -> Iterator[Hit]:
    # Frameworks of screens call methods by name or from the screen, where nothing could await them.
    has_screen = is_for_screen(facts)
    for scope in facts.scopes:
        if not scope.is_async or not scope.name or has_screen:
            continue
        head = Span(scope.span.start, scope.body.start)
        text = facts.text(head)
        found = _VOID.search(text)
        if found is None or "override" in text or _handles_event(scope) or _catches_all(scope, facts):
            continue
        place = Span(head.start + len(text[: found.start()].encode()), head.end)
        yield Hit(place, f"an error in {scope.short_name}() cannot be caught and ends the process", LIKELY)


def _handles_event(scope: Scope) -> bool:
    types = [each.type for each in scope.parameters]
    return (len(types) == 2 and types[1].endswith("Args")) or "sender" in {
        each.name.lower() for each in scope.parameters
    }


def _catches_all(scope: Scope, facts: Facts) -> bool:
    """Return whether a try with a broad handler is all that the method holds."""
    return any(
        handler.is_broad and each.span.end - each.span.start > 0.7 * (scope.body.end - scope.body.start)
        for each in facts.within(facts.tries, scope.body)
        for handler in each.handlers
    )


RULE = Rule(
    id="FK-R072",
    slug="async-void",
    title="Async method that nothing can await",
    why="An exception in it has no caller to go to: it ends the process. Nothing can wait for its end.",
    fix="Return Task and await it; keep async void for handlers of events, with a try around all of it.",
    kind="reliability",
    severity="high",
    languages=CSHARP,
    check=_check,
)
