"""JavaScript: finds Express handlers whose promise may be rejected with nothing to catch it.

The manifest decides, where there is one: Express 5 and some packages pass rejections to the error handler,
and a function of `(req, res)` is one of Express only if the project depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Step, is_within
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.rejections import may_reject, returns_promise, throws
from faultkit.code.rules.vocabulary.returned_values import own_function, returned_values
from faultkit.code.rules.vocabulary.waits import is_sleep

_CATCHING = (
    "express-async-errors",
    "express-promise-router",
    "@awaitjs/express",
    "@root/async-router",
    "express-async-router",
)
"""Packages that pass rejections to the error handler. One of them in the manifest is used by all routes."""
_CATCHING_BYTES = tuple(each.encode() for each in _CATCHING)
_CATCHES = lazy_regex(r"\.catch\s*\(")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.project.has_at_least("express", 5) or facts.project.has_any(*_CATCHING):
        return
    # Texts are made when they are asked for, which takes long.
    if facts.syntax.has_any(*_CATCHING_BYTES) and any(text.text in _CATCHING for text in facts.texts):
        return
    for scope in facts.scopes:
        if not _is_registered(scope, facts):
            continue
        for step in _awaits(scope, facts):
            what = "a rejection here is caught by nothing: Express 4 never answers, and Node ends the process"
            yield Hit(step.span, what, LIKELY)
            break
        else:
            for call in _dropped_chains(scope, facts):
                what = (
                    f"a rejection of {call.written}() is caught by nothing: the client never gets an answer"
                )
                yield Hit(call.span, what, LIKELY)
                break


def _is_registered(scope: Scope, facts: Facts) -> bool:
    """Return whether Express calls the function itself, and not a wrapper around it."""
    if scope.route is not None:
        plain = [each.name for each in scope.parameters[:2]] == ["req", "res"] and not scope.route.framework
        return (plain and _may_be_express(facts)) or scope.route.framework == "express"
    return facts.imports_any("express") and any(
        call.method == "use" and any(each.value.span == scope.span for each in call.positional)
        for call in facts.calls_of_method("use")
        if 2 <= len(scope.parameters) <= 3 and scope.is_anonymous
    )


def _may_be_express(facts: Facts) -> bool:
    known = facts.project.dependencies
    return not known or "express" in known or "@types/express" in known or facts.imports_any("express")


def _awaits(scope: Scope, facts: Facts) -> Iterator[Step]:
    if not scope.is_async:
        return
    for step in facts.within(facts.steps, scope.body):
        if step.kind != "await" or facts.function_of(step) is not scope or _CATCHES.search(step.text):
            continue
        if any(is_within(step.span, each.span) for each in facts.tries if each.handlers):
            continue
        calls = tuple(facts.within(facts.calls, step.span))
        if not any(is_sleep(call) or _has_handler(call) for call in calls) and not _settles(calls, facts):
            yield step


def _settles(calls: tuple[Call, ...], facts: Facts) -> bool:
    """Return whether what is awaited is a function of this text that makes a value of every rejection."""
    own = own_function(calls[0], facts) if calls else None
    if own is not None and own.is_async:
        return not (may_reject(own, facts) or throws(own, facts) or returns_promise(own, facts))
    values = () if own is None else returned_values(own, facts)
    ends = [
        next((call for call in facts.within(facts.calls, each) if call.span == each), None) for each in values
    ]
    return bool(ends) and all(
        end is not None and (_has_handler(end) or end.method == "catch") for end in ends
    )


def _has_handler(call: Call) -> bool:
    """Return whether it is `….then(done, failed)`."""
    return call.method == "then" and len(call.positional) > 1


def _dropped_chains(scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield `x.then(…)` that is neither returned nor caught."""
    for call in facts.within(facts.calls, scope.body):
        if call.method not in ("then", "finally") or not call.is_discarded or call.is_awaited:
            continue
        if facts.function_of(call) is scope and not _is_caught(call, facts):
            yield call


def _is_caught(call: Call, facts: Facts) -> bool:
    text = facts.text(call.callee)
    return len(call.positional) > 1 or _CATCHES.search(text) is not None


RULE = Rule(
    id="FK-R045",
    slug="rejection-in-handler",
    title="Request handler whose rejection is not caught",
    why="Express before version 5 does not look at the promise of a handler: the request hangs until the "
    "client gives up, and since Node 15 the unhandled rejection ends the process.",
    fix="Catch errors and call next(err), wrap the handler in a function that does, or use Express 5.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
)
