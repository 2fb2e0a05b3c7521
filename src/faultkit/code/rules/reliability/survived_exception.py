"""JavaScript: finds handlers of uncaught exceptions after which the process goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule

_ENDS = re.compile(
    r"process\.(exit|kill|abort|exitCode|reallyExit)|\bthrow\b|[eE]xit\w*\(|[sS]hut_?[dD]own\w*\(|\b[dD]ie\w*\(|\b\w*[tT]erminate\w*\("
    r"|\b(stop|close|quit|end|crash|fatal)\w*\(|\.(stop|close|quit|kill|fatal|destroy)\w*\(",
)


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
    """Return the text of the handler; empty if it is not in this file, or calls what may end the process."""
    given = call.arguments[1].value
    if given.shape == "function":
        span = given.span
    else:
        named = [scope for scope in facts.scopes if scope.name == given.text]
        if len(named) != 1:
            return ""
        span = named[0].span
    for inner in facts.within(facts.calls, span):
        local = [scope for scope in facts.scopes if scope.name and scope.name == inner.name]
        if any(_ENDS.search(facts.text(scope.span)) for scope in local):
            return ""
    return facts.text(span)


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
