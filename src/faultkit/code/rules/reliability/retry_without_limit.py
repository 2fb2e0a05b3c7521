"""Finds retries that never give up."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import retries


def _check(facts: Facts) -> Iterator[Hit]:
    for retry in retries(facts):
        if retry.limited is False:
            yield Hit(retry.span, "this retries without a limit of tries or time", LIKELY)
    yield from _tasks(facts)


def _tasks(facts: Facts) -> Iterator[Hit]:
    """Yield Celery tasks with `max_retries=None`."""
    if not facts.imports_any("celery"):
        return
    for decorator in (each for scope in facts.scopes for each in scope.decorators):
        limit = decorator.argument("max_retries")
        if decorator.method in ("task", "shared_task") and limit is not None and limit.value.shape == "none":
            yield Hit(decorator.span, "max_retries=None makes Celery retry this task for ever", CERTAIN)


RULE = Rule(
    id="FK-R007",
    slug="retry-without-limit",
    title="Retry without a limit",
    why="While a dependency is down, work piles up behind calls that never fail, and callers wait for ever.",
    fix="Stop after a number of tries or a deadline, and raise the last error.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
