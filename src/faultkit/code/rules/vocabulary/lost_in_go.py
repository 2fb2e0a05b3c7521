"""Errors of Go that a deferred function keeps to itself, and pipes whose reader sees an end for an error."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span

_ERROR = lazy_regex(r"err|\w*Err|err[A-Z]\w*")
_RESULT = lazy_regex(r"\)\s*(?:\([^()]*\)|[\w.*\[\]]+)?\s*\{?\s*$")


def lost_by_deferred(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `defer func() { err = tx.Commit() }()` where `err` is no result: it was returned before."""
    if b"defer func" not in facts.syntax.source:
        return
    for each in facts.assignments:
        inner, name = each.scope, "".join(each.targets[-1:])
        if inner is None or not inner.is_anonymous or each.operator != "=" or not _ERROR.fullmatch(name):
            continue
        outer = inner.outer
        if outer is None or not facts.is_deferred(inner) or _is_result(name, outer, facts):
            continue
        made = [one for one in facts.assignments_to(name, each) if one.operator == ":="]
        is_outer = any(one.scope is outer for one in made) and not any(one.scope is inner for one in made)
        after = facts.text(Span(each.span.end, inner.body.end))
        returned = any(
            step.kind == "return" and re.search(rf"\b{name}\b", step.text)
            for step in facts.own(facts.steps, outer)
        )
        if is_outer and returned and not re.search(rf"\b{name}\b", after):
            yield each.span, f"{name} is no result of the function: what is set after `return` is lost"


def _is_result(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function names this result, so that deferred functions can set it."""
    head = facts.text(scope.head).rstrip("{ \n")
    found = _RESULT.search(head)
    return found is None or re.search(rf"[(,]\s*(?:\w+\s*,\s*)*{name}\b", found[0][1:]) is not None


def pipes_without_error(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield writers of a pipe that are closed after an error as at the end of the data."""
    for made in facts.calls_named("io.Pipe"):
        writer = made.assigned[1] if len(made.assigned) == 2 else ""
        around = facts.function_of(made)
        if not writer or around is None or f"{writer}.CloseWithError(" in facts.text(around.body):
            continue
        for call in facts.within(facts.calls_of_method("Close"), around.body):
            scope = facts.function_of(call) if call.receiver_written == writer else around
            if scope is None or scope is around or not _fails_before(call, writer, scope, facts):
                continue
            what = f"after an error {call.written}() looks like the end to the reader"
            yield call.span, f"{what}: CloseWithError() passes it on"
            break


def _fails_before(call: Call, writer: str, scope: Scope, facts: Facts) -> bool:
    """Return whether an error is left behind in the function that closes a pipe."""
    handlers = [
        handler
        for each in facts.within(facts.tries, scope.body)
        for handler in each.handlers
        if call.is_deferred or handler.span.start < call.span.start
    ]
    return any(writer not in facts.text(handler.body) or call.is_deferred for handler in handlers)
