"""Ways out of a function between a call that takes something and the code that is sure to give it back.

`lock.acquire()`, an early `return`, and only then the `try` whose `finally` releases the lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultkit.code.facts import Call, Facts, Scope, Step, is_within
from faultkit.code.languages.syntax import Span


def exit_without_release(begin: int, ends: Iterable[Call], scope: Scope, facts: Facts) -> Step | None:
    """Return the first `return` or `raise` behind an offset that no release comes before, and none is sure
    to follow: neither `finally`, `defer` nor the end of a managed block."""
    ends = tuple(ends)
    sure = tuple(_protected(ends, scope, facts))
    if not sure or min(each.start for each in sure) <= begin:
        return None
    return exit_between(begin, min(each.start for each in sure), ends, scope, facts)


def exit_between(begin: int, first: int, ends: Iterable[Call], scope: Scope, facts: Facts) -> Step | None:
    """Return the first `return` or `raise` between two offsets that no release comes before."""
    for step in facts.own(facts.steps, scope):
        if step.kind not in ("return", "raise") or step.span.start < begin or step.span.end > first:
            continue
        if facts.tries_around(step) and step.kind == "raise" and facts.language != "go":
            continue  # A handler of this function may release it.
        if any(_is_before(end, step, facts) for end in ends):
            continue
        return step
    return None


def _protected(ends: Iterable[Call], scope: Scope, facts: Facts) -> Iterator[Span]:
    """Yield the parts of a function after or in which a release is sure."""
    for end in ends:
        if end.is_deferred or facts.is_deferred(end):
            yield Span(end.span.start, scope.body.end)
        for each in facts.tries:
            if each.finally_ is not None and is_within(end.span, each.finally_):
                yield each.span


def _is_before(end: Call, step: Step, facts: Facts) -> bool:
    if is_within(end.span, step.span):
        return True
    return end.span.end <= step.span.start and not facts.are_exclusive(end, step)
