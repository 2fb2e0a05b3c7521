"""Returns of Go functions that leave before what they hold is released.

Go has no exceptions: a return is missed if no release stands before it in its block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from faultkit.code.facts import Call, Facts, Handler, Scope, Step, is_within
from faultkit.code.languages.syntax import Span


def missed_in_go(call: Call, ends: Sequence[Call], scope: Scope, facts: Facts) -> Step | None:
    """Return where a function is left between a call and the first release of what the call took."""
    handlers = [
        handler for each in facts.tries for handler in each.handlers if handler.is_broad or handler.types
    ]
    normal = [each for each in ends if not any(is_within(each.span, one.body) for one in handlers)]
    first = min(each.span.start for each in normal or ends)
    check = next(
        (each for each in handlers if each.span.start > call.span.end and each.name == call.assigned[-1]),
        None,
    )
    if "Query" in call.method:
        # Rows that are read to their end are closed.
        over = f"{call.assigned[0]}.Next()"
        reads = [each.span.end for each in facts.within(facts.loops, scope.body) if over in each.over]
        first = min([first, *reads])
    for step in facts.own(facts.steps_of("return", "continue"), scope):
        if step.kind == "continue" and facts.loops_around(step)[-1:] != facts.loops_around(call)[-1:]:
            continue
        if not call.span.end < step.span.start or step.span.end > first:
            continue
        block = next((each for each in reversed(handlers) if is_within(step.span, each.body)), None)
        if block is not None and block is check:
            continue  # The `if err != nil` of the call itself: nothing was taken.
        if _is_about_error(step, call, check, facts) or _is_without(step, call.assigned[0], facts):
            continue
        around = [each.body for each in handlers if is_within(step.span, each.body)]
        if not any(
            is_within(each.span, body) and not facts.are_exclusive(each, step)
            for each in ends
            for body in around
        ):
            return step
    return next(_past_condition(ends, scope, facts), None)


def _past_condition(ends: Sequence[Call], scope: Scope, facts: Facts) -> Iterator[Step]:
    """Yield returns at which a deferred release does nothing, since the error that it asks for is not set.

    `defer func() { if err != nil { tx.Rollback() } }()` does not see the `err` of `if err := f()`, nor what
    `return ErrFull` returns, unless `err` is a result with that name."""
    for end in ends:
        inner = facts.function_of(end)
        if inner is scope or any(each is not end and facts.function_of(each) is inner for each in ends):
            continue  # It may commit if there is no error.
        error = _awaited_error(end, facts)
        if error and not re.search(rf"\b{error}\b", facts.text(Span(scope.span.start, scope.body.start))):
            yield from _unset(error, end, ends, scope, facts)


def _awaited_error(end: Call, facts: Facts) -> str:
    """Return the variable that must hold an error for a deferred release to run; empty if there is none."""
    if not facts.is_deferred(end):
        return ""
    conditions = [each.text for each in facts.steps_of("branch") if is_within(end.span, each.span)]
    inside = [text for text in conditions if re.fullmatch(r"\w+ != nil", text)]
    return inside[0].partition(" ")[0] if len(inside) == len(conditions) == 1 else ""


def _unset(error: str, end: Call, ends: Sequence[Call], scope: Scope, facts: Facts) -> Iterator[Step]:
    word = re.compile(rf"\b{error}\b")
    for step in facts.own(facts.steps_of("return"), scope):
        if step.span.start < end.span.end or step.text.strip() in ("", "nil"):
            continue
        if any(
            each is not end and each.span.end <= step.span.start and not facts.are_exclusive(each, step)
            for each in ends
        ):
            continue
        forks = [each for each in facts.steps_of("branch") if is_within(step.span, each.span)]
        forks = [each for each in forks if is_within(each.span, scope.body)]
        shadows = re.compile(rf"if\s+(?:\w+,\s*)*{error}(?:,\s*\w+)*\s*:=")
        is_other = any(shadows.match(facts.text(each.span)) for each in forks)
        if is_other or (
            forks
            and re.search(r"\bErr[A-Z]\w*$|\b(?:fmt\.Errorf|errors\.New)\(", step.text)
            and not any(word.search(facts.text(Span(each.span.start, step.span.end))) for each in forks)
        ):
            yield step


def _is_without(step: Step, name: str, facts: Facts) -> bool:
    """Return whether a return gives the thing itself to the caller, or stands where there is none."""
    word = re.escape(name)
    if re.match(rf"&?{word}\s*(?:,|$)", step.text):
        return True
    return any(
        branch.kind == "branch"
        and is_within(step.span, branch.span)
        and re.search(rf"(?<![\w.]){word}\s*==\s*nil\b", branch.text)
        for branch in facts.steps
    )


def _is_about_error(step: Step, call: Call, check: Handler | None, facts: Facts) -> bool:
    """Return whether a return depends on the error of the call: `if os.IsNotExist(err) { return nil }`."""
    error = re.compile(rf"\b{re.escape(call.assigned[-1])}\b")
    last = check.span.end if check is not None else step.span.end
    return any(
        branch.kind == "branch"
        and is_within(step.span, branch.span)
        and error.search(branch.text)
        and (
            is_within(call.span, branch.span)
            or call.span.end <= branch.span.start < last
            or _is_still_set(call, step, facts)
        )
        for branch in facts.steps
    )


def _is_still_set(call: Call, step: Step, facts: Facts) -> bool:
    """Return whether an error is that of a call: it is set again only where the function leaves before."""
    return all(
        facts.are_exclusive(each, step)
        for each in facts.within(facts.assignments, Span(call.span.end, step.span.start))
        if call.assigned[-1] in each.targets
    )
