"""Finds queries inside a transaction that run on another connection of the pool (JavaScript, Go)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.transactions import transactions

_OPENS = frozenset({"transaction", "$transaction"})
_HEAD = re.compile(r"[\w$]+")


def _check(facts: Facts) -> Iterator[Hit]:
    beside = () if facts.language == "go" else tuple(_writes_beside(facts))
    yield from beside
    told = {each.span for each in beside}
    yield from (each for each in _second_connections(facts) if each.span not in told)


def _writes_beside(facts: Facts) -> Iterator[Hit]:
    """Yield writes inside the function of a transaction on the object that opened it (JavaScript)."""
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


_QUERIES = frozenset(
    (
        "query", "execute", "connect", "getConnection", "Query", "QueryRow", "QueryContext",
        "QueryRowContext", "Exec", "ExecContext", "GetContext", "SelectContext", "Begin", "BeginTx",
    )
)  # fmt: skip
_POOLS = re.compile(r"(^|[._])(\w*[pP]ool|db|DB|\w+Db|conn|database|client)$")
_TAKES = frozenset(("connect", "getConnection", "Begin", "BeginTx", "Beginx", "BeginTxx", "acquire"))


def _second_connections(facts: Facts) -> Iterator[Hit]:
    """Yield queries on the pool inside a transaction that has taken one of its connections."""
    pools = {
        call.receiver_written
        for call in facts.calls_of_method(*_TAKES)
        if call.assigned and _POOLS.search(call.receiver_written)
    }
    if not pools:
        return
    asks = [call for call in facts.calls_of_method(*_QUERIES) if call.receiver_written in pools]
    helpers = {
        scope: call
        for call in asks
        if (scope := facts.named_function_of(call)) is not None and not scope.is_anonymous
    }
    opened = [*transactions(facts)]
    told = set[Span]()
    for one in opened:
        # What opens the transaction stands before it.
        inside = [call for call in asks if is_within(call.span, one.span) and not call.is_launched]
        for helper, ask in helpers.items():
            if any(is_within(ask.span, other.span) for other in opened) or ask.method in _TAKES:
                continue
            inside += [
                call
                for call in facts.callers_of(helper)
                if is_within(call.span, one.span) and facts.named_function_of(call) is not helper
            ]
        for call in sorted(inside, key=lambda each: each.span.start):
            if call.span not in told and one.span not in told:
                told |= {call.span, one.span}
                what = (
                    f"{call.written}() takes a second connection while the transaction keeps one of the pool"
                )
                yield Hit(call.span, what, LIKELY)
                break


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
    title="Query beside the transaction around it",
    why="It runs on another connection: it stays when the rest is rolled back, it may wait for locks that "
    "the transaction holds, and when all connections are taken by transactions, each waits for the others.",
    fix="Use the object that the function is given (trx, tx, manager) for every query inside it.",
    kind="reliability",
    severity="high",
    languages=(*JAVASCRIPT, *GO),
    check=_check,
)
