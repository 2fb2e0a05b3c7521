"""JavaScript: finds handlers of uncaught exceptions after which the process goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule

_ENDS = lazy_regex(r"process\.(exit|kill|abort|exitCode|reallyExit)|\bthrow\b")
_TELLS = lazy_regex(
    r"log|print|report|console|capture|debug|error|warn|info|notify|trace|stringify|format|inspect|toString|String"
    r"|sentry|record|emit|increment|push|write",
    re.IGNORECASE,
)
"""Names of calls that tell of the exception; others may end the process."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("on", "addListener"):
        event, given = call.argument(place=0), call.argument(place=1)
        if call.receiver_written != "process" or event is None or given is None:
            continue
        if event.value.literal != "uncaughtException":
            continue
        body = _body(call, facts)
        if body and not _ENDS.search(body):
            yield Hit(
                call.callee, "after an uncaught exception this process goes on as if nothing happened", LIKELY
            )


def _body(call: Call, facts: Facts) -> str:
    """Return the text of the handler; empty if it is not in this file, or may end the process."""
    given = call.arguments[1].value
    if given.shape == "function":
        span = given.span
    else:
        named = [
            scope
            for scope in facts.functions_named(given.text.rpartition(".")[2])
            if scope.name == given.text
        ]
        if len(named) != 1:
            return ""
        span = named[0].span
    calls = list(facts.within(facts.calls, span))
    if not all(_TELLS.search(call.written) or _is_local(call, facts) for call in calls):
        return ""
    return facts.text(span)


def _is_local(call: Call, facts: Facts) -> bool:
    """Return whether a function of this file is called that does not end the process either."""
    named = [scope for scope in facts.functions_named(call.method) if scope.name == call.name]
    return bool(named) and not any(
        _ENDS.search(facts.text(scope.span)) or not _only_tells(scope, facts) for scope in named
    )


def _only_tells(scope: Scope, facts: Facts) -> bool:
    return all(_TELLS.search(call.written) for call in facts.within(facts.calls, scope.body))


RULE = Rule(
    id="FK-R052",
    slug="uncaught-exception-survived",
    title="Process that goes on after an uncaught exception",
    why="What the exception interrupted stays half done: locks, transactions and requests hang, and later "
    "answers may be wrong.",
    fix="Log the error and exit with a failure; let the supervisor start a new process.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
)
