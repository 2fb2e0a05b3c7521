"""Failures that code drops: logged, counted or ignored, after which it goes on as if the work were done.

That is a handler, a promise with `.catch(log)`, a `runCatching` without a use, a result that Rust throws
away, or a branch that only logs `is_err()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.failures import has_comment, is_count_or_report
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.waits import is_sleep

_REFUSED = lazy_regex(
    r"(Json|Parse|Format|Decod|Deseriali|Seriali|Validation|Argument|Duplicate|NotFound|DoesNotExist|Exists|Conflict"
    r"|Invalid|Key|Value|Type|Interrupted|Cancel|Poison|Optimistic|Stale|Unsupported|ClassCast|Malformed|Constraint"
    r"|Integrity|Unicode|Unprocessable|BadRequest|Rejected|Schema|Empty|Mapping|Ignor|Skip)\w*$"
)
"""Errors after which the same message can only fail again, or which say that its work is done."""
_OF_WORK = lazy_regex(
    r"(?:^|\.)(?:Runtime|IO|Timeout|SQL\w*|Sql\w*|DataAccess\w*|Connection\w*|Operational|Database|Db\w*|Http\w*|Socket|Client"
    r"|Network|Transient\w*|Mongo\w*|Redis\w*|Kafka\w*|Amqp\w*|Request)(?:Exception|Error)$"
)
"""Errors that say that something does not work, whatever else is caught with them."""
_USES_OUTCOME = frozenset(
    ("getOrThrow", "getOrElse", "getOrNull", "fold", "isFailure", "isSuccess", "exceptionOrNull", "recover")
)
_IS_ERR = lazy_regex(r"^!?\s*([\w.]+)\.is_err\(\)$")


@dataclass(frozen=True, slots=True)
class DroppedFailure:
    """A failure after which a function goes on."""

    span: Span
    """The statement: what follows it follows the failure."""
    at: Span
    """What a finding points at."""
    work: Span
    """What may fail."""


def is_failure_of_work(handler: Handler) -> bool:
    """Return whether a handler takes errors after which the work may succeed if it is tried again."""
    if handler.is_broad or not handler.types:
        return True
    names = [each.partition("<")[0] for each in handler.types]
    failures = [each for each in names if each.endswith(("Exception", "Error", "Failure"))]
    if any(map(_OF_WORK.search, failures)):
        return True
    return bool(failures) and not any(_REFUSED.search(each.rpartition(".")[2]) for each in failures)


def only_logs_or_counts(body: Span, facts: Facts, *, waits: bool = False) -> bool:
    """Return whether a block does nothing but log and count, or nothing at all; with `waits`, it may wait."""
    calls = list(facts.within(facts.calls, body))
    logs = [
        call for call in calls if is_logging(call) or is_count_or_report(call) or (waits and is_sleep(call))
    ]
    return all(any(is_within(call.span, log.span) for log in logs) for call in calls) and all(
        each.operator not in ("=", ":=") for each in facts.within(facts.assignments, body)
    )


def _leaves(body: Span, facts: Facts) -> bool:
    return any(
        step.kind in ("continue", "break", "return", "raise", "yield")
        for step in facts.within(facts.steps, body)
    )


def dropped_failures(facts: Facts) -> Iterator[DroppedFailure]:
    """Yield the failures after which a function goes on."""
    for each in facts.tries:
        for handler in each.handlers:
            if handler.raises or handler.exits or not is_failure_of_work(handler):
                continue
            if _leaves(handler.body, facts) or not only_logs_or_counts(handler.body, facts):
                continue
            if not has_comment(facts.text(handler.span)):
                yield DroppedFailure(each.span, handler.span, _work_of(each, facts))
    yield from _ignored_answers(facts)
    yield from swallowing_calls(facts)
    if facts.language in JAVASCRIPT:
        yield from _promises(facts)
        yield from _settled(facts)
    elif facts.language == "kotlin":
        yield from _outcomes(facts)
    elif facts.language == "rust":
        yield from _results(facts)


def _work_of(each: Try, facts: Facts) -> Span:
    """Return what may fail: of `if let Err(err) = outcome` of Rust, what gave the outcome."""
    name = facts.text(each.body).strip() if facts.language == "rust" else ""
    if not name.isidentifier():
        return each.body
    made = [one for one in facts.assignments_to(name, each) if one.value is not None]
    if made and made[-1].value is not None:
        return made[-1].value.span
    heads = [loop.head for loop in facts.loops_around(each)]
    return next((head for head in reversed(heads) if name in facts.text(head)), each.body)


# Functions that drop the failure of their only work, so that their callers do not learn of it.


@lru_cache(maxsize=4)
def swallowing_calls(facts: Facts) -> tuple[DroppedFailure, ...]:
    """Return the calls of functions of this text that drop the failure of their only work and return nothing.

    Only those that are the only work of their round themselves: beside other work, such a function does what
    nothing depends on."""
    found = {
        scope: None
        for each in facts.tries
        if (scope := facts.function_of(each)) is not None and scope.name and _swallows(each, scope, facts)
    }
    calls = [call for scope in found for call in facts.callers_of(scope)]
    return tuple(
        DroppedFailure(call.span, call.span, call.span)
        for call in calls
        if call.is_discarded and call.arguments and not call.is_launched and _is_only_work(call, facts)
    )


_SIDE_WORK = NamePattern(
    r"cache|metric|audit|(?<![a-z])log(?!in)|analytic|notif|mail|telemetry|track|stats|slack|trace|warm|prefetch"
    r"|clean|close|stop|rollback|release|delete|remove|heartbeat|refresh|invalidate|report|alert|cancel|abort"
    r"|touch|cleanup|dispose|unlock|shut",
    re.IGNORECASE,
)
"""Names of functions whose failure is no failure of what calls them."""


def _swallows(each: Try, scope: Scope, facts: Facts) -> bool:
    """Return whether a function tries its only work, and does not say that it failed."""
    if _SIDE_WORK.search(scope.short_name) or facts.loops_around(each) or facts.handlers_around(each):
        return False
    if not any(_drops(one, facts) for one in each.handlers) or _has_result(scope, facts):
        return False
    return not any(
        (call.is_discarded or call.is_awaited)
        and not is_within(call.span, each.span)
        and not is_within(call.span, each.body)
        and not is_logging(call)
        and not is_count_or_report(call)
        for call in facts.own(facts.calls, scope)
    )


def _drops(handler: Handler, facts: Facts) -> bool:
    return (
        not handler.raises
        and is_failure_of_work(handler)
        and only_logs_or_counts(handler.body, facts)
        and any(map(is_logging, facts.within(facts.calls, handler.body)))
        and not has_comment(facts.text(handler.span))
    )


_RESULT = {
    "go": lazy_regex(r"\)\s*[\w(*\[]"),
    "rust": lazy_regex(r"->"),
    "kotlin": lazy_regex(r"\)\s*:\s*(?!Unit)\w"),
}


def _has_result(scope: Scope, facts: Facts) -> bool:
    """Return whether a function gives something back by which its callers may learn of a failure."""
    if any(step.kind == "return" and step.text.strip("; ") for step in facts.own(facts.steps, scope)):
        return True
    result, head = _RESULT.get(facts.language), facts.text(scope.head)
    if result is None:
        return False
    last = head.rpartition(scope.short_name + "(")[2] if facts.language == "go" else head
    return result.search(last.rstrip("{ \n=")) is not None


def _is_only_work(call: Call, facts: Facts) -> bool:
    """Return whether nothing else is done in the round, or in the function, before the end of a call."""
    scope = facts.function_of(call)
    loops = facts.loops_around(call)
    body = loops[-1].body if loops else None if scope is None else scope.body
    if body is None:
        return False
    return not any(
        (each.is_discarded or each.is_awaited)
        and each.span.start < call.span.start
        and not is_logging(each)
        and not is_within(call.span, each.span)
        and not _RECEIVES.search(each.method)
        for each in facts.within(facts.calls, body)
    )


_RECEIVES = NamePattern(
    r"poll|receive|fetch|consume|read|recv|next|parse|decode|json|verify|valid|check|form|body|raw|get|subscribe",
    re.IGNORECASE,
)


def _promises(facts: Facts) -> Iterator[DroppedFailure]:
    """Yield `await send(row).catch((err) => log.error(err))`."""
    for call in facts.calls_of_method("catch"):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function" or call.origin is None or call.assigned:
            continue
        scope = facts.function_at(given.value.span)
        body = given.value.span if scope is None else scope.body
        if only_logs_or_counts(body, facts) and not _leaves(body, facts) and not facts.comment_at(call):
            yield DroppedFailure(call.span, call.span, call.origin.span)


_FALSE = lazy_regex(r"^(?:false|False)$")


@lru_cache(maxsize=4)
def answering_false(facts: Facts) -> dict[str, Scope]:
    """Return the functions of this text that answer false after a failure, by name."""
    return {
        scope.short_name: scope
        for each in facts.tries
        for handler in each.handlers
        if (scope := facts.function_of(handler)) is not None and scope.name
        for step in facts.within(facts.steps, handler.body)
        if step.kind == "return" and _FALSE.match(step.text.strip())
    }


def _ignored_answers(facts: Facts) -> Iterator[DroppedFailure]:
    """Yield calls whose answer is dropped, of a function of this text that answers false after a failure."""
    failing = answering_false(facts)
    for call in facts.calls_of_method(*failing) if failing else ():
        if call.is_discarded and call in facts.callers_of(failing[call.method]):
            yield DroppedFailure(call.span, call.span, call.span)


_DECIDES = lazy_regex(r"fulfilled|\.filter\(|\.throw\b|\bthrow\b")


def _settled(facts: Facts) -> Iterator[DroppedFailure]:
    """Yield `await Promise.allSettled(…)` whose failures are at most logged."""
    for call in facts.calls_named("Promise.allSettled"):
        scope = facts.function_of(call)
        if scope is None or not call.is_awaited or call.is_returned:
            continue
        if not _DECIDES.search(facts.text(Span(call.span.end, scope.body.end))):
            yield DroppedFailure(call.span, call.span, call.span)


def _outcomes(facts: Facts) -> Iterator[DroppedFailure]:
    """Yield `runCatching { … }.onFailure { log.error(…) }` (Kotlin)."""
    for call in facts.calls_named("runCatching"):
        later = list(facts.calls_on(call))
        if call.assigned or any(each.method in _USES_OUTCOME for each in later):
            continue
        failed = next((each for each in later if each.method == "onFailure"), None)
        last = max((call, *later), key=lambda each: each.span.end)
        if failed is None or only_logs_or_counts(Span(failed.callee.end, failed.span.end), facts):
            yield DroppedFailure(last.span, last.span, call.span)


_PASSED_ON = lazy_regex(rb"(?:\s*\.await)?\s*\?")


def is_passed_on(call: Call, facts: Facts) -> bool:
    """Return whether the error of a call is returned: `let _ = f().await?` drops the value alone (Rust)."""
    return _PASSED_ON.match(facts.syntax.source, call.span.end) is not None


def _results(facts: Facts) -> Iterator[DroppedFailure]:
    """Yield `send(…).await.ok();`, `let _ = send(…).await;` and `if sent.is_err() { log }` (Rust)."""
    for call in facts.calls:
        if call.method == "ok" and call.is_discarded and call.origin is not None and call.origin.is_awaited:
            yield DroppedFailure(call.span, call.span, call.origin.span)
        elif call.assigned == ("_",) and call.is_awaited and not is_passed_on(call, facts):
            yield DroppedFailure(call.span, call.span, call.span)
    for arm in facts.arms:
        head = facts.text(Span(arm.fork.start, arm.span.start)).removeprefix("if").strip()
        found = _IS_ERR.match(head)
        if found is not None and arm.place == 0 and not arm.leaves and only_logs_or_counts(arm.span, facts):
            made = [each for each in facts.assignments_to(found[1], arm) if each.call is not None]
            if made and made[-1].value is not None:
                yield DroppedFailure(arm.fork, arm.fork, made[-1].value.span)


def home_of(place: Placed, facts: Facts) -> Scope | None:
    """Return the function around a place; the function that `.map` is given is a part of it."""
    scope = facts.function_of(place)
    bodies = _bodies_of_comprehensions(facts)
    while scope is not None and scope.span in bodies:
        scope = scope.outer
    return scope


@lru_cache(maxsize=4)
def _bodies_of_comprehensions(facts: Facts) -> frozenset[Span]:
    return frozenset(loop.body for loop in facts.loops if loop.kind == "comprehension")


def done_after(call: Placed, each: DroppedFailure, facts: Facts) -> bool:
    """Return whether a place is reached after a dropped failure: behind it, or in its `finally`."""
    if home_of(call, facts) is not home_of(each, facts) or call.span.start < each.work.end:
        return False
    if is_within(call.span, each.span) and not facts.is_in_finally(call):
        return False
    around = [loop for loop in facts.loops_around(each) if loop.kind != "comprehension"]
    if around and not any(is_within(call.span, loop.body) for loop in around):
        return False
    return not any(
        is_within(call.span, arm.span) and not is_within(each.span, arm.span)
        for arm in facts.arms
        if not is_within(arm.span, each.span)
    )
