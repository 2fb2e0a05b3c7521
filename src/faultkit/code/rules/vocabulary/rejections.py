"""JavaScript: whether the promise of an async function may be rejected, as far as its file shows.

async function flush() {                      The lock only passes on what its function does, `store()` is a
  await lock.runExclusive(async () => {       function of this text that catches its errors, and a sleep does
    await store(batch);                       not fail: so flush() does not reject.
    await sleep(10);
  });
}
"""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Step, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.vocabulary.waits import is_sleep

_CATCHES = lazy_regex(r"\.catch\s*\(")
_NEVER = lazy_regex(r"^(pathExists|lock|acquire|waitForUnlock|nextTick|setImmediate|allSettled)$")
"""Methods whose promise is resolved only: locks, and questions that have an answer in any case."""
_WRAPS = lazy_regex(
    r"^_?(tryCatch|tryAwait|attempt|safe(ly)?([A-Z]\w*)?|swallow\w*|ignoreErrors?|settle|noThrow|catchError)$"
)
"""Functions that make a value of a rejection: `const { error } = await tryCatch(load())`."""
_PASSES_ON = lazy_regex(
    r"^(runExclusive|exclusive|synchronized|serialize|with(Lock|Span|Context|Mutex|Tracing|Logging|Timer|Scope|Permit)\w*"
    r"|trace\w*|startActiveSpan|startSpan|measure|runInContext|runInAsyncScope|run)$"
)
"""Methods whose promise has the outcome of the function that they are given."""
_LEVELS = 3
"""Levels of functions of the same text that are examined."""


def may_reject(scope: Scope, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether something is awaited outside of every try, functions of this file included."""
    text = facts.text(scope.span)
    if _CATCHES.search(text) or "window." in text:
        return False
    tries = tuple(facts.within(facts.tries, scope.body))
    return any(
        step.kind == "await"
        and facts.function_of(step) is scope
        and not any(_is_caught(step, each, facts) for each in tries)
        and _may_fail(step, facts, levels)
        for step in facts.within(facts.steps, scope.body)
    )


def handles_all(scope: Scope, facts: Facts) -> bool:
    """Return whether a try without a throw is around everything that a function awaits, in any language."""
    awaits = [step for step in facts.own(facts.steps, scope) if step.kind == "await"]
    return bool(awaits) and all(
        any(
            is_within(step.span, each.body) and each.handlers and not any(one.raises for one in each.handlers)
            for each in facts.within(facts.tries, scope.body)
        )
        for step in awaits
    )


def returns_promise(scope: Scope, facts: Facts) -> bool:
    """Return whether an async function has the outcome of a call that it returns, or of a stream."""
    if _STREAM.search(facts.text(scope.body)):
        return True
    returned = [each for each in facts.own(facts.calls, scope) if each.is_returned or each.span == scope.body]
    return any(
        not each.constructs
        and not is_logging(each)
        and not facts.tries_around(each)
        and _CATCHES.search(facts.text(each.span)) is None
        and (bool(each.receiver_written) or not facts.functions_named(each.method))
        for each in returned
    )


_STREAM = lazy_regex(r"\bfor\s+await\b")


def throws(scope: Scope, facts: Facts) -> bool:
    """Return whether a function itself throws outside of every try."""
    return any(
        step.kind == "raise" and not facts.tries_around(step) and not facts.handlers_around(step)
        for step in facts.own(facts.steps, scope)
    )


def _may_fail(step: Step, facts: Facts, levels: int) -> bool:
    calls = tuple(facts.within(facts.calls, step.span))
    if not calls:
        # Of `await load<Row>(id)`, the grammar takes `await load` for what is called.
        calls = tuple(call for call in facts.calls if call.span.start == step.span.start)[:1]
    if not calls:
        return True
    call = calls[0]
    if any(map(is_sleep, calls)) or is_logging(call) or _settles_all(call, facts, levels):
        return False
    if _NEVER.match(call.method) or _WRAPS.match(call.method):
        return False
    given = [each for each in (facts.function_at(a.value.span) for a in call.arguments) if each is not None]
    if call.name == "Promise" and given:
        # An executor without a second parameter never rejects.
        return len(given[0].parameters) > 1
    if given and _PASSES_ON.match(call.method):
        return levels == 0 or any(may_reject(each, facts, levels - 1) for each in given)
    own = facts.functions_named(call.method) if call.receiver in ("", "self") and levels else ()
    return not own or any(may_reject(each, facts, levels - 1) or throws(each, facts) for each in own)


def _settles_all(call: Call, facts: Facts, levels: int) -> bool:
    """Return whether it waits for promises none of which rejects: `Promise.all(urls.map(async …))`."""
    if call.name == "Promise.allSettled":
        return True
    if call.name != "Promise.all":
        return False
    given = [scope for scope in facts.within(facts.scopes, call.span) if scope.is_async]
    return bool(given) and levels > 0 and not any(may_reject(each, facts, levels - 1) for each in given)


def _is_caught(step: Step, tried: Try, facts: Facts) -> bool:
    """Return whether a try keeps a rejection from leaving the function: `finally` alone does not."""
    if not is_within(step.span, tried.span) or not tried.handlers:
        return False
    if not is_within(step.span, tried.body):
        return True  # What a handler awaits runs after the error was caught.
    return not all(_always_throws(each, facts) for each in tried.handlers)


def _always_throws(handler: Handler, facts: Facts) -> bool:
    inside = tuple(facts.within(facts.steps, handler.body))
    around = facts.function_of(handler)
    return any(
        step.kind == "raise"
        and facts.function_of(step) is around
        and not any(each.kind == "branch" and is_within(step.span, each.span) for each in inside)
        for step in inside
    )
