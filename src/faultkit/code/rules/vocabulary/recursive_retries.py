"""Functions that call themselves again after a failure, with the number of the try as a parameter.

async function push(item, attempt = 1) {
  try { await api.put(item); }
  catch (error) { await pause(attempt); return push(item, attempt + 1); }
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.stuck_counters import COUNTED
from faultkit.code.rules.vocabulary.waits import is_sleep

_STATUS = lazy_regex(
    r"\b(429|50[0-9]|5xx)\b|status|StatusCode|retr(y|i)able|transient|should_?retry|isRetry|timed_?out",
    re.IGNORECASE,
)
_WORKED = lazy_regex(
    r"status\w*(?:\(\))?\s*(?:(?:===?|is)\s*(?:2\d\d\b|[\w.]*\b(?:Status)?(?:OK|Created|Accepted)\b)"
    r"|<=?\s*(?:299|300|399|400)\b)|\bis_?success|\.ok\b",
    re.IGNORECASE,
)
_FAILED = lazy_regex(
    r"!\s*[\w.(]|\bnot\b|\b(?:429|50\d|5xx)\b|>=?\s*[345]00\b|retr(?:y|i)able|transient", re.IGNORECASE
)
_TRIED = lazy_regex(rf"{COUNTED}|delay|backoff|\btrue\b", re.IGNORECASE)
_NEXT = (
    r"{0}\s*[-+]\s*1\b|\b1\s*\+\s*{0}\b|(?:\+\+|--){0}\b|{0}\.(?:inc|dec|plus|minus)\(|{0}\.saturating_\w+\("
)
_SAME = r"{0}|{0}\s*(?:\+\+|--)"
"""What leaves a counter as it was: itself, and `attempt++`, which passes the old value on."""
_MAY_COUNT = lazy_regex(r"[-+]|\.(?:inc|dec|plus|minus|saturating)")
"""What stands in each text that `_NEXT` or `_SAME` matches, apart from the name alone."""
_LIMITS = lazy_regex(
    r"attempt|retr|tries|deadline|left|count|depth|budget|remaining|elapsed|expire|once|first|again|already|limit",
    re.IGNORECASE,
)
_HANDLES = ("catch", "recover", "onErrorResume", "exceptionallyCompose", "recoverWith")
"""Methods that are given what to do after a failure."""
_LASTING = lazy_regex(
    r"^_*(re)?_?(connect|start|run|listen|subscribe|poll|loop|init|watch|consume|serve|work|tick|schedule|open)",
    re.IGNORECASE,
)
"""Names of functions that go on as long as the program."""


def recursive_retries(facts: Facts) -> Iterator[Retry]:
    """Yield the calls by which a function tries again what failed."""
    for scope in facts.scopes:
        called = facts.calls_of_method(scope.short_name) if scope.short_name else ()
        for call in facts.within(called, scope.body) if called else ():
            if facts.named_function_of(call) is not scope or call not in facts.callers_of(scope):
                continue
            if _is_same(call, scope) and _follows_failure(call, scope, facts):
                waits = _waits(call, scope, facts)
                limited = _limited(call, scope, waits, facts)
                yield Retry("recursion", call.span, scope.body, call, None, waits or None, None, limited)
                break


def stuck_counter(call: Call, scope: Scope, facts: Facts) -> str:
    """Return the parameter that counts tries and is passed on unchanged; empty if there is none."""
    for name, text in _passed(call, scope):
        if not re.fullmatch(_SAME.format(re.escape(name)), text) or not _LIMITS.search(name):
            continue
        if re.search(r"max|limit|total|deadline", name, re.IGNORECASE):
            continue  # It is what the counter is compared with.
        changed = re.search(
            rf"(?<![\w.]){re.escape(name)}\s*(?:[-+*]?=[^=]|\+\+|--)|(?:\+\+|--){re.escape(name)}\b",
            facts.text(Span(scope.body.start, call.span.start)),
        )
        if changed is None and _is_compared(name, scope, facts):
            return name
    return ""


def _passed(call: Call, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the parameters with what the call passes for them."""
    parameters = [each.name for each in scope.parameters if each.name not in ("self", "cls", "this")]
    for place, argument in enumerate(call.arguments):
        name = argument.name or (parameters[place] if place < len(parameters) else "")
        if name in parameters:
            yield name, " ".join(argument.value.text.split())


def _is_same(call: Call, scope: Scope) -> bool:
    """Return whether a call is given what the function itself was given, apart from a counter."""
    passed = list(_passed(call, scope))
    if len(passed) != len(call.arguments):
        return False
    return all(
        text == name
        or text in (f"&{name}", f"{name}.clone()", f"{name}...", f"*{name}")
        or (
            name in text
            and _MAY_COUNT.search(text)
            and (
                re.fullmatch(_SAME.format(re.escape(name)), text)
                or re.search(_NEXT.format(re.escape(name)), text)
            )
        )
        or _TRIED.search(f"{name} {text}")
        for name, text in passed
    )


def _follows_failure(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a call stands in a handler, or behind a status that says that something failed."""
    if any(is_within(handler.span, scope.body) for handler in facts.handlers_around(call)):
        return True
    if any(each.method in _HANDLES for each in facts.calls_around(call)):
        return True
    return any(
        _says_failure(facts.text(Span(arm.fork.start, min(arm.span.start, arm.fork.start + 200))), arm)
        for arm in facts.within(facts.arms, scope.body)
        if is_within(call.span, arm.span)
    )


def _says_failure(head: str, arm: Arm) -> bool:
    """Return whether an arm is taken after a status, and not after one of success."""
    if _STATUS.search(head) is None:
        return False
    return arm.place > 0 or _WORKED.search(head) is None or _FAILED.search(head) is not None


def _waits(call: Call, scope: Scope, facts: Facts) -> bool:
    inside = facts.within(facts.calls, scope.body)
    return any(
        is_sleep(each) or each.method in ("setTimeout", "schedule", "AfterFunc") for each in inside
    ) or (facts.language == "go" and "<-" in facts.text(scope.body))


def _is_compared(name: str, scope: Scope, facts: Facts) -> bool:
    word = rf"(?<![\w.]){re.escape(name)}"
    return (
        re.search(
            rf"{word}\s*(?:[<>]=?|===?|!==?)|[<>]=?\s*{re.escape(name)}\b|{word}\s+in\b",
            facts.text(scope.body),
        )
        is not None
    )


_TAKEN = lazy_regex(r"DbUpdate\w*|Duplicate\w*|Unique\w*|Integrity\w*|Conflict\w*|Exists\w*")
"""Errors of a row that another one has made meanwhile: the next try finds it."""


def _limited(call: Call, scope: Scope, waits: bool, facts: Facts) -> bool | None:
    types = [name for handler in facts.handlers_around(call)[-1:] for name in handler.types]
    if types and all(map(_TAKEN.search, types)):
        return None
    if stuck_counter(call, scope, facts):
        return False
    for name, text in _passed(call, scope):
        if text in ("true", "True", "false", "False"):
            return True  # It says that this is the second time.
        if re.search(_NEXT.format(re.escape(name)), text):
            return True if _is_compared(name, scope, facts) else None
    if _LIMITS.search(facts.text(scope.head)) or (call.arguments != () and not list(_passed(call, scope))):
        return None
    branches = [step.text for step in facts.within(facts.steps, scope.body) if step.kind == "branch"]
    if any(_LIMITS.search(text) for text in branches) or _LASTING.match(scope.short_name):
        return None
    return False if not waits and _only_calls_again(call, facts) else None


def _only_calls_again(call: Call, facts: Facts) -> bool:
    """Return whether a handler does nothing else that could make the next try another one."""
    bodies = [handler.body for handler in facts.handlers_around(call)]
    inner = facts.function_of(call)
    if inner is not None and inner.is_anonymous and facts.calls_around(call)[-1:]:
        # `.catch((error) => this.publish(quote))`
        bodies += [inner.body] if facts.calls_around(call)[-1].method in _HANDLES else []
    if not bodies:
        return False
    body = bodies[-1]
    return not any(facts.within(facts.assignments, body)) and all(
        each is call or is_logging(each) or is_within(each.span, call.span) or each.is_argument
        for each in facts.within(facts.calls, body)
    )
