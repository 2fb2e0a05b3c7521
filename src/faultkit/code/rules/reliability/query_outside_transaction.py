"""Finds queries inside a transaction that run on another connection of the pool, or without its handle."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls, sql_calls
from faultkit.code.rules.vocabulary.transactions import transactions

_OPENS = frozenset({"transaction", "$transaction"})
_HEAD = lazy_regex(r"[\w$]+")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "rust":
        yield from _on_pool(facts)
        return
    if facts.language == "python":
        yield from _begun_on_pool(facts)
        yield from _on_source(facts)
        return
    if facts.language in JAVASCRIPT:
        yield from _without_option(facts)
    yield from _begun_on_pool(facts)
    if facts.language == "go":
        yield from _beside_given(facts)
    beside = () if facts.language == "go" else tuple(_writes_beside(facts))
    yield from beside
    seen = {each.span for each in beside}
    yield from (each for each in _second_connections(facts) if each.span not in seen)


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


_COMMITS = lazy_regex(r";\s*(?:COMMIT|END)\b", re.IGNORECASE)
_POOL_NAME = lazy_regex(r"(^|[._])\w*[pP]ool$")


def _begun_on_pool(facts: Facts) -> Iterator[Hit]:
    """Yield `pool.query("BEGIN")`: each statement then takes a connection of its own."""
    for sql in sql_calls(facts):
        call = sql.call
        is_pool = _POOL_NAME.search(call.receiver_written) or call.receiver == "database/sql.DB"
        # All of one text runs on one connection.
        if sql.verb == "begin" and is_pool and not _COMMITS.search(sql.sql):
            what = f"{call.written}() begins on a connection that goes back to the pool at once"
            yield Hit(call.span, what, LIKELY)


_WRAPPERS = ("Transaction", "RunInTx", "RunInTransaction", "BeginFunc", "BeginTxFunc", "WithTx", "InTx")


def _beside_given(facts: Facts) -> Iterator[Hit]:
    """Yield calls on what opened a transaction, in the function that is given one (Go)."""
    for opened in facts.calls_of_method(*_WRAPPERS):
        scope = _given_function(opened, facts)
        if (
            scope is None
            or not opened.receiver_written
            or not scope.parameters[0].type.endswith(("DB", "Tx"))
        ):
            continue
        owner = re.escape(opened.receiver_written)
        for call in facts.within(facts.calls, scope.body):
            if re.match(rf"{owner}\.(?!Transaction|RunIn)[A-Z]\w*$", call.written):
                what = f"{call.written}() does not use {scope.parameters[0].name}: it stays after a rollback"
                yield Hit(call.span, what, LIKELY)
                break


_SENDS = frozenset(("execute", "fetch_one", "fetch_optional", "fetch_all", "execute_many", "fetch"))


def _on_pool(facts: Facts) -> Iterator[Hit]:
    """Yield queries that are sent to the pool between `pool.begin()` and the commit (Rust)."""
    for begun in facts.calls_of_method("begin"):
        scope = facts.function_of(begun)
        name = begun.assigned[0].removeprefix("mut ").strip() if begun.assigned else ""
        if scope is None or not name.isidentifier():
            continue
        ends = [
            each.span.start
            for each in facts.own(facts.calls_of_method("commit"), scope)
            if each.receiver_written == name and each.span.start > begun.span.end
        ]
        for call in facts.own(facts.calls_of_method(*_SENDS), scope) if ends else ():
            first = call.argument(place=0)
            if first is None or not begun.span.end < call.span.end < max(ends):
                continue
            if first.value.text.lstrip("&* ").removeprefix("mut ") == begun.receiver_written:
                what = f"{call.method}() does not use {name}: what it does stays when {name} is rolled back"
                # A query of sqlx begins long before what it is sent to.
                yield Hit(Span(first.value.span.start, call.span.end), what, LIKELY)


_OPENED = lazy_regex(r"^(?:acquire|connection|connect|begin|get_conn|getconn)$")
_ENGINE = lazy_regex(r"(?:engine|pool|database)$")
_STATEMENTS = frozenset(("execute", "executemany", "fetch", "fetchrow", "fetchval", "fetch_one", "fetch_all"))


def _on_source(facts: Facts) -> Iterator[Hit]:
    """Yield queries on the pool inside the block of a transaction of one of its connections (Python)."""
    for opened, body in facts.managed:
        if opened.method not in ("transaction", "begin"):
            continue
        taken = opened if opened.method == "begin" else opened.origin
        if taken is None or _OPENED.match(taken.method) is None or not taken.receiver_written:
            continue
        if taken.method == "begin" and _ENGINE.search(taken.receiver_written) is None:
            continue  # `with conn.begin():` is of the connection itself.
        for call in facts.within(facts.calls_of_method(*_STATEMENTS), body):
            if call.receiver_written == taken.receiver_written:
                what = f"{call.written}() runs on another connection, and not in {opened.written}()"
                yield Hit(call.span, what, LIKELY)


_MODEL = lazy_regex(r"^[A-Z][A-Za-z0-9]*(?:\.[A-Z]\w*)?$")
_MODEL_WRITES = lazy_regex(
    r"^(?:create|bulkCreate|update\w*|destroy|increment|decrement|upsert|insert\w*|delete\w*|findOneAnd\w+|findByIdAnd\w+"
    r"|bulkWrite|replaceOne|save)$"
)
_HANDLES = lazy_regex(r"\b(?:transaction|session)\b")


def _without_option(facts: Facts) -> Iterator[Hit]:
    """Yield writes of models that are not given the transaction which the others are given (JavaScript)."""
    for opened in facts.calls_of_method("transaction", "withTransaction"):
        function = next((each.value for each in opened.positional if each.value.shape == "function"), None)
        scope = None if function is None else facts.function_at(function.span)
        writes = [
            call
            for call in (facts.within(facts.calls, scope.body) if scope is not None else ())
            if call.is_awaited and _MODEL.match(call.receiver_written) and _MODEL_WRITES.match(call.method)
        ]
        inside = [call for call in writes if _HANDLES.search(facts.text(call.span))]
        for call in writes if inside else ():
            if call not in inside and not call.spreads and not _is_on_session(call, facts):
                what = f"{call.written}() is not given the transaction: it stays when that is rolled back"
                yield Hit(call.span, what, LIKELY)


def _is_on_session(call: Call, facts: Facts) -> bool:
    """Return whether a query is given the session later: `Order.updateOne(…).session(session)`."""
    return any(each.method == "session" for each in facts.calls_on(call)) or any(
        each.value.shape == "name" for each in call.positional[1:]
    )


_QUERIES = frozenset(
    (
        "query", "execute", "connect", "getConnection", "Query", "QueryRow", "QueryContext",
        "QueryRowContext", "Exec", "ExecContext", "GetContext", "SelectContext", "Begin", "BeginTx",
    )
)  # fmt: skip
_POOLS = lazy_regex(r"(^|[._])(\w*[pP]ool|db|DB|\w+Db|conn|database|client)$")
_TAKES = frozenset(("connect", "getConnection", "Begin", "BeginTx", "Beginx", "BeginTxx", "acquire"))


def _second_connections(facts: Facts) -> Iterator[Hit]:
    """Yield queries on the pool inside a transaction that has taken one of its connections."""
    pools = {
        call.receiver_written
        for call in facts.calls_of_method(*_TAKES)
        if call.assigned and _POOLS.search(call.receiver_written) and not _is_taken(call, facts)
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
    seen = set[Span]()
    for one in opened:
        # What opens the transaction stands before it.
        inside = [call for call in asks if is_within(call.span, one.span) and not call.is_launched]
        for helper, ask in helpers.items():
            if any(is_within(ask.span, other.span) for other in opened) or ask.method in _TAKES:
                continue
            inside += [
                call
                for call in facts.callers_of(helper)
                if is_within(call.span, one.span)
                and facts.named_function_of(call) is not helper
                and not _is_given_transaction(call, one.span, facts)
            ]
        for call in sorted(inside, key=lambda each: each.span.start):
            if call.span not in seen and one.span not in seen:
                seen |= {call.span, one.span}
                what = (
                    f"{call.written}() takes a second connection while the transaction keeps one of the pool"
                )
                yield Hit(call.span, what, LIKELY)
                break


def _is_taken(call: Call, facts: Facts) -> bool:
    """Return whether a transaction is begun on a connection that was taken from the pool before."""
    return any(
        each.call is not None and _CONNECTS.match(each.call.method) is not None
        for each in facts.assignments_to(call.receiver_written, call)
    )


_CONNECTS = lazy_regex(r"^(?:Conn|Connx|Acquire|acquire|connect|getConnection|get_conn|getconn|reserve)$")


def _is_given_transaction(call: Call, opened: Span, facts: Facts) -> bool:
    """Return whether a function is given what the transaction runs on: `put(ctx, tx, key)`."""
    scope = facts.named_function_of(call)
    begun = {
        name
        for each in (() if scope is None else facts.within(facts.calls_of_method(*_TAKES), scope.body))
        if each.span.start <= call.span.start
        for name in each.assigned
    }
    inner = facts.function_of(call)
    begun |= {
        each.name
        for each in (() if inner is None or not is_within(inner.span, opened) else inner.parameters)
        if _OF_TRANSACTION.search(each.name)
    }
    return any(each.value.text.lstrip("&*") in begun - {"err", "_", "ok"} for each in call.arguments)


_OF_TRANSACTION = lazy_regex(r"^(tx|trx|client|conn|connection|manager|session|\w*[tT]ransaction)$")


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
    languages=(*JAVASCRIPT, *GO, *RUST, *PYTHON),
    check=_check,
)
