"""Returns of Go functions that leave before what they hold is released.

Go has no exceptions: a return is missed if no release stands before it in its block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from faultkit.code.facts import Call, Facts, Handler, Scope, Step, is_within
from faultkit.code.languages.syntax import Span


def is_missed_in_go(
    call: Call,
    ends: Sequence[Call],
    normal: Sequence[Call],
    handlers: Sequence[Handler],
    scope: Scope,
    facts: Facts,
) -> bool:
    """Return whether a function is left between a call and the first release of what the call took.

    `normal` are the releases outside of handlers of errors."""
    first = min(each.span.start for each in normal)
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
            return True
    return False


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
