"""Finds handlers that answer with a failure, and go on as if they had not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.fact_values import Arm
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.rule import CERTAIN, CSHARP, GO, JAVA, JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.answers import is_answer, is_failure, responder_of

_STATUS = lazy_regex(r"(^|\.)Response\.StatusCode$")
_NEXT = lazy_regex(r"^_?next(\.Invoke)?$|^_?next\.Invoke$")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "csharp":
        yield from _middleware(facts)
        return
    for scope in facts.scopes:
        responder = responder_of(scope, facts)
        if not responder:
            continue
        answers = [call for call in facts.own(facts.calls, scope) if is_answer(call, responder, facts)]
        for call in answers:
            if not is_failure(call, facts) or call.is_returned:
                continue
            later = _goes_on(call, [each for each in answers if each is not call], facts)
            if later is not None:
                what = f"there is no return behind {call.written}(), so {later.written}() answers again"
                yield Hit(call.span, what, CERTAIN)
        yield from _passed_on(scope, answers, facts)


def _passed_on(scope: Scope, answers: list[Call], facts: Facts) -> Iterator[Hit]:
    """Yield `next(err)` without a return, with an answer behind it (Express)."""
    if facts.language not in JAVASCRIPT or not any(each.name == "next" for each in scope.parameters):
        return
    for call in facts.own(facts.calls, scope):
        if call.written != "next" or not call.arguments or call.is_returned:
            continue
        later = _goes_on(call, answers, facts)
        if later is not None:
            what = f"there is no return behind next(), so {later.written}() answers as well"
            yield Hit(call.span, what, LIKELY)


def _goes_on(place: Placed, later: list[Call], facts: Facts) -> Call | None:
    """Return the answer that is reached after one in a branch that does not leave the function."""
    arm = _arm_of(place, facts)
    if arm is None or arm.leaves:
        return None
    for call in later:
        if call.span.start >= arm.fork.end and not facts.are_exclusive(place, call):
            return call
    return None


def _arm_of(place: Placed, facts: Facts) -> Arm | None:
    scope = facts.function_of(place)
    around = [
        arm
        for arm in facts.arms
        if is_within(place.span, arm.span) and (scope is None or is_within(arm.fork, scope.body))
    ]
    return min(around, key=lambda arm: arm.span.end - arm.span.start) if around else None


def _middleware(facts: Facts) -> Iterator[Hit]:
    """Yield a status of failure that is set in a branch, after which the next middleware runs (C#)."""
    for each in facts.assignments:
        if not each.targets or each.scope is None or not _STATUS.search(each.targets[0]):
            continue
        if each.value is None or not re.search(r"\b[45]\d\d\b|Status[45]\d\d", each.value.text):
            continue
        arm = _arm_of(each, facts)
        if arm is None or arm.leaves:
            continue
        for call in facts.own(facts.calls, each.scope):
            if (
                _NEXT.match(call.written)
                and call.span.start >= arm.fork.end
                and not facts.are_exclusive(each, call)
            ):
                what = f"there is no return behind the status, so {call.written}() runs all the same"
                yield Hit(each.span, what, CERTAIN)
                break


RULE = Rule(
    id="FK-R096",
    slug="goes-on-after-answer",
    title="No return after an answer of failure",
    why="The handler does what it has just refused, and answers twice: clients see a broken or wrong answer, "
    "and Node.js throws.",
    fix="Return right after the answer.",
    kind="reliability",
    severity="high",
    languages=(*JAVASCRIPT, *GO, *JAVA, *CSHARP),
    check=_check,
)
