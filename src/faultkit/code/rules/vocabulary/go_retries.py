"""Loops of Go that call again after an error: which outcomes of a call leave the loop, and which do not."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within

_SUCCESS = lazy_regex(r"\b\w*[eE]rr == nil\b|StatusCode\s*(<|==)")
_NAMES_TAKEN = lazy_regex(
    r"IsExist|ErrExist|EEXIST|EINTR|EAGAIN|Interrupted|EOF|Canceled|Closed|NotExist|NotFound"
)
"""Errors of a name that is taken, of a call that a signal broke, and of an end: none is a failure."""


def go_retries(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a success of the call leaves the loop, and a failure does not."""
    arms = [arm for arm in facts.within(facts.arms, loop.body) if arm.span.start > call.span.start]
    steps = [
        step
        for step in facts.within(facts.steps, loop.body)
        if step.kind in ("return", "break") and step.span.start > call.span.start
    ]
    always = [step for step in steps if not any(is_within(step.span, arm.span) for arm in arms)]
    error = re.compile(rf"\b{re.escape(call.assigned[-1])} (==|!=) nil")
    kind = re.compile(rf"(!?)((?:\w+\.)?\w+)\({re.escape(call.assigned[-1])}(?:,\s*[&\w.]+)?\)")
    for branch in facts.within(facts.steps, loop.body):
        if branch.kind != "branch" or branch.span.end < call.span.end:
            continue
        first = next((arm for arm in arms if arm.fork == branch.span and arm.place == 0), None)
        tested = error.search(branch.text)
        if first is not None and (of_kind := kind.fullmatch(branch.text.strip())) is not None:
            if _NAMES_TAKEN.search(branch.text):
                return False
            # `if isConflict(err) { continue }; return err`, or `if !isConflict(err) { return err }`
            goes_on = facts.text(first.span).rstrip(" }\n\t").endswith("continue")
            if of_kind[1]:
                gives = any(
                    step.kind == "return" and re.search(rf"\b{re.escape(call.assigned[-1])}\b", step.text)
                    for step in steps
                    if is_within(step.span, first.span)
                )
                return gives and not any(step.span.start > branch.span.end for step in always)
            return goes_on and any(step.span.start > branch.span.end for step in always)
        if first is None or (tested is None and not _SUCCESS.search(branch.text)):
            continue
        ends = any(is_within(step.span, first.span) for step in steps)
        if tested is not None and tested[1] == "!=":
            otherwise = [arm for arm in arms if arm.fork == branch.span and arm.place == 1]
            if otherwise and not first.leaves:
                return any(is_within(step.span, otherwise[0].span) for step in steps)
            goes_on = facts.text(first.span).rstrip(" }\n\t").endswith("continue")
            return goes_on and any(step.span.start > branch.span.end for step in always)
        if ends and _SUCCESS.search(branch.text):
            fails = any(arm.fork == branch.span and arm.place == 1 and arm.leaves for arm in arms)
            return not always and not fails
    return False
