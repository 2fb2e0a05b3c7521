"""JavaScript: finds writes inside a transaction's function that run on another connection."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_OPENS = frozenset({"transaction", "$transaction"})
_HEAD = re.compile(r"[\w$]+")


def _check(facts: Facts) -> Iterator[Hit]:
    for opened in facts.calls_of_method(*_OPENS):
        scope = _given_function(opened, facts)
        if scope is None or not opened.receiver_written:
            continue
        inside = scope.parameters[0].name
        word = re.compile(rf"(?<![\w$.]){re.escape(inside)}(?![\w$])")
        if not word.search(facts.text(scope.body)):
            continue  # Libraries that know the transaction by the flow of calls need no parameter.
        for remote in remote_calls(facts):
            call = remote.call
            if remote.kind != "database" or remote.is_read or remote.through is not None:
                continue
            if scope not in facts.functions_around(call) or word.search(facts.text(call.span)):
                continue
            if _is_on(call, opened.receiver_written, scope, facts):
                what = f"{call.written}() does not use {inside}: it stays when the transaction is rolled back"
                yield Hit(call.span, what, LIKELY)


def _given_function(opened: Call, facts: Facts) -> Scope | None:
    """Return the function that a call runs inside a transaction, if it is given the transaction."""
    for argument in opened.positional:
        if argument.value.shape == "function":
            found = facts.function_at(argument.value.span)
            named = found is not None and found.parameters and _HEAD.fullmatch(found.parameters[0].name)
            return found if named else None
    return None


def _is_on(call: Call, owner: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a call is made on the object that opened the transaction, not on one of the same name
    inside."""
    head = owner.partition(".")[0]
    if any(head in each.targets for each in facts.within(facts.assignments, scope.body)):
        return False
    return call.written.startswith((f"{owner}(", f"{owner}."))


RULE = Rule(
    id="FK-R075",
    slug="query-outside-transaction",
    title="Write beside the transaction around it",
    why="It runs on another connection: it stays when the rest is rolled back, and it may wait for locks "
    "that the transaction holds.",
    fix="Use the object that the function is given (trx, tx, manager) for every query inside it.",
    kind="reliability",
    severity="high",
    languages=JAVASCRIPT,
    check=_check,
)
