"""Finds several writes that belong together without a transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.answered_failures import is_commit, is_write
from faultkit.code.rules.vocabulary.remote_calls import SqlCall, remote_calls, sql_calls
from faultkit.code.rules.vocabulary.service_clients import service_calls
from faultkit.code.rules.vocabulary.stored_writes import stored_writes
from faultkit.code.rules.vocabulary.transactions import Transaction, transactions
from faultkit.code.rules.vocabulary.void_transactions import void_transactions

_BEGINS = lazy_regex(
    r"\b(begin|atomic|savepoint|BeginTx|in_?tx\b|with_?tx\b|run_?in_?tx)|transaction"
    r"|setAutoCommit\(false|@Transactional",
    re.IGNORECASE,
)

_GIVEN = lazy_regex(r"^(tx|trx|con|conn|connection|session|em|handle|stmt|statement)$", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    by_scope: dict[Scope, list[SqlCall]] = {}
    for sql in (*sql_calls(facts), *_prepared(facts)):
        scope = facts.named_function_of(sql.call) or facts.function_of(sql.call)
        if sql.is_write and scope is not None and not _keeps_failure(sql, facts):
            by_scope.setdefault(scope, []).append(sql)
    yield from (Hit(span, what, LIKELY) for span, what in void_transactions(facts))
    yield from _through_helpers(by_scope, facts)
    yield from _by_one_helper(by_scope, facts)
    yield from _in_two(facts)
    yield from _of_orm(facts)
    for scope, writes in by_scope.items():
        text = facts.text(scope.span)
        if facts.language == "rust":
            writes = [sql for sql in writes if _is_on_pool(sql.call)]
        together = _first_two(writes, facts)
        if together is None or _BEGINS.search(text) or _is_called_in_transaction(scope, writes, facts):
            continue
        receivers = {sql.call.receiver_written for sql in writes}
        if receivers & {"tx", "trx", "self.tx", "transaction", "session"}:
            continue
        first, second = together
        if facts.language == "python":
            between = _commits_between(writes, facts)
            if not between and not all(_is_committed_at_once(sql) for sql in writes):
                # Without a commit in between, DB-API connections keep both in one transaction.
                continue
            yield Hit(
                second.span, f"{second.written}() is committed apart from the write before it", POSSIBLE
            )
        else:
            what = f"{second.written}() may fail after {first.written}() has been done"
            yield Hit(second.span, what, POSSIBLE)


_SAYS_FAILED = lazy_regex(r"\b\w*(?:error|fail)\w*\s*=|=\s*'(?:failed|error)", re.IGNORECASE)


def _keeps_failure(sql: SqlCall, facts: Facts) -> bool:
    """Return whether a handler writes down that the work failed, which the rest of it must not undo."""
    return bool(facts.handlers_around(sql.call)) and _SAYS_FAILED.search(sql.sql) is not None


_EXECUTORS = lazy_regex(r"(?:DBTX|Tx|Execer|Executor|Querier|Queryer|ExtContext|\wConnection|Preparer\w*)$")
"""Types of parameters that a transaction can be as well as a connection."""


def _is_called_in_transaction(scope: Scope, writes: list[SqlCall], facts: Facts) -> bool:
    """Return whether a caller has a transaction: around the call, or on the connection that it gives."""
    open_ = tuple(transactions(facts))
    names = {each.name for each in scope.parameters}
    given = all(sql.call.receiver_written.partition(".")[0] in names for sql in writes)
    types = {each.name: each.type for each in scope.parameters}
    if all(_EXECUTORS.search(types.get(sql.call.receiver_written, "")) for sql in writes):
        return True
    for call in facts.callers_of(scope):
        caller = facts.named_function_of(call)
        if any(is_within(call.span, one.span) for one in open_):
            return True
        if given and caller is not None and caller is not scope and _BEGINS.search(facts.text(caller.span)):
            return True
    return False


_UPDATED = lazy_regex(r"\s*update\s+([\w.\"`]+)", re.IGNORECASE)
_INSERTED = lazy_regex(r"\s*insert\s+into\s+([\w.\"`]+)", re.IGNORECASE)
_ENDED = lazy_regex(
    r"\bset\s+(?:\w+\s*=\s*[^,]+,\s*)?(?:success|finished\w*|completed\w*|done|ended\w*)\s*=", re.IGNORECASE
)
_WORDS = lazy_regex(r"[A-Za-z_][\w.]*")


def _is_same_row(first: SqlCall, second: SqlCall) -> bool:
    """Return whether two updates set one row before and after the work: each must be seen by itself."""
    one, other = _UPDATED.match(first.sql), _UPDATED.match(second.sql)
    made = _INSERTED.match(first.sql)
    if made is not None and other is not None and made[1].lower() == other[1].lower():
        return _ENDED.search(second.sql) is not None
    if one is None or other is None or one[1].lower() != other[1].lower():
        return False
    mine, others = (
        {word for text in _bound(sql) for word in _WORDS.findall(text)} for sql in (first, second)
    )
    return bool(others) and others <= mine


def _bound(sql: SqlCall) -> Iterator[str]:
    """Yield the values of a statement: those behind its text, or those of `.bind(…)` in Rust."""
    yield from (each.value.text for each in sql.call.positional[1:])
    before = sql.call.origin
    while before is not None and before.method == "bind":
        yield from (each.value.text for each in before.positional)
        before = before.origin


def _through_helpers(by_scope: dict[Scope, list[SqlCall]], facts: Facts) -> Iterator[Hit]:
    """Yield the second of two calls of different methods of the same class that write (Java)."""
    if facts.language != "java" or not by_scope or _BEGINS.search(facts.whole_text):
        return
    calls: dict[Scope, list[tuple[Call, Scope]]] = {}
    for helper in by_scope:
        if not re.match(r"(@\w+\s+)*private\b", facts.text(helper.span)):
            continue
        for call in facts.callers_of(helper):
            caller = facts.named_function_of(call)
            # A connection that is given may have a transaction.
            if caller is not None and not any(_GIVEN.search(each.value.text) for each in call.arguments):
                calls.setdefault(caller, []).append((call, helper))
    for made in calls.values():
        made.sort(key=lambda each: each[0].span.start)
        for (first, one), (second, other) in combinations(made, 2):
            if one is not other and not facts.are_exclusive(first, second):
                what = f"{second.written}() may fail after {first.written}() has been done"
                yield Hit(second.span, what, POSSIBLE)
                break


def _by_one_helper(by_scope: dict[Scope, list[SqlCall]], facts: Facts) -> Iterator[Hit]:
    """Yield the second of two calls of one function that writes by itself, each for a row of its own."""
    for helper, writes in by_scope.items():
        if not helper.name or any(_GIVEN.search(each.name) for each in helper.parameters):
            continue
        text = facts.text(helper.span)
        kept = ".commit(" in text or all(map(_is_committed_at_once, writes)) or facts.language != "python"
        if not kept or _BEGINS.search(text) or (facts.language == "rust" and not _is_on_pool(writes[0].call)):
            continue
        calls = [
            call for call in facts.callers_of(helper) if call.positional and not facts.loops_around(call)
        ]
        for first, second in pairwise(calls):
            caller = facts.named_function_of(first)
            if caller is None or caller is not facts.named_function_of(second) or caller is helper:
                continue
            keys = [each.positional[1 if _is_context(each) else 0].value.text for each in (first, second)]
            if keys[0] == keys[1] or facts.are_exclusive(first, second):
                continue
            if _asks_between(first, second, facts):
                continue
            if not _BEGINS.search(facts.text(caller.span)):
                what = f"{second.written}() may fail after the first {first.written}() has been done"
                yield Hit(Span(first.span.start, second.span.end), what, POSSIBLE)
                break


def _is_context(call: Call) -> bool:
    """Return whether the first argument is the context of a call (Go)."""
    return len(call.positional) > 1 and re.fullmatch(r"\w*[cC]tx", call.positional[0].value.text) is not None


_ENDS = lazy_regex(
    r"(?i)^(?:begin\w*|commit\w*|transaction|\$transaction|rollback|start\w*|execute\w*|with_?transaction)$"
)


def _in_two(facts: Facts) -> Iterator[Hit]:
    """Yield a transaction that begins right where another one of the same function has ended."""
    by_scope: dict[Scope, list[Transaction]] = {}
    for one in transactions(facts):
        scope = facts.named_function_of(one)
        if scope is not None and scope.body != one.span and not facts.loops_around(one):
            by_scope.setdefault(scope, []).append(one)
    for opened in by_scope.values():
        for first, second in pairwise(sorted(opened, key=lambda each: each.span)):
            between = Span(first.span.end, second.span.start)
            if between.start >= between.end or facts.are_exclusive(first, second):
                continue
            others = [
                call
                for call in facts.within(facts.calls, between)
                if not _ENDS.match(call.method) and not is_logging(call) and not call.is_deferred
            ]
            if not others and all(_writes_in(one.span, facts) for one in (first, second)):
                what = f"{second.opened_by} may fail after {first.opened_by} has been committed"
                yield Hit(Span(first.span.end - 1, second.span.start + 1), what, POSSIBLE)
                break


def _writes_in(span: Span, facts: Facts) -> bool:
    return any(is_write(call, facts) and not is_commit(call) for call in facts.within(facts.calls, span))


def _is_committed_at_once(sql: SqlCall) -> bool:
    """Return whether a driver commits a statement by itself: asyncpg does, which is known by `$1`."""
    return sql.call.is_awaited and re.search(r"\$1\b", sql.sql) is not None


def _prepared(facts: Facts) -> Iterator[SqlCall]:
    """Yield the writes of prepared statements on a connection that the function takes for itself (JDBC)."""
    if facts.language not in ("java", "kotlin"):
        return
    for call in facts.calls_of_method("executeUpdate", "execute", "executeBatch"):
        made, scope = call.origin or _used(call, facts), facts.named_function_of(call)
        if made is None or made.method != "prepareStatement" or call.arguments or scope is None:
            continue
        if not re.search(
            r"\.getConnection\(|dataSource\.connection|\bds\.connection", facts.text(scope.span)
        ):
            continue
        first = made.argument(place=0)
        text = "" if first is None else first.value.literal
        verb = re.match(r"\s*(insert|update|delete|merge)\b", text, re.IGNORECASE)
        if verb is not None:
            yield SqlCall(call, verb[1].lower(), text)


def _used(call: Call, facts: Facts) -> Call | None:
    """Return the call that made the object of a block: of `con.prepareStatement(…).use { it.execute() }`."""
    around = [each for each in facts.calls_around(call) if each.method == "use"]
    return around[-1].origin if around else None


_POOL = lazy_regex(r"(^|[.&*_\s(])(\w*pool|db|database)\b(?!\.begin)")
_WORKS = lazy_regex(
    r"\b(begin|transact|startTransaction|atomic|savepoint|UnitOfWork|TransactionScope|runInTx|withTx|inTx)|Transactional",
    re.IGNORECASE,
)


def _is_on_pool(call: Call) -> bool:
    """Return whether a query of Rust takes a connection of its own: `.execute(&self.pool)`."""
    last = call.argument(place=0)
    return last is not None and _POOL.search(last.value.text) is not None and "tx" not in last.value.text


def _of_orm(facts: Facts) -> Iterator[Hit]:
    """Yield the second of two writes that an ORM commits one by one."""
    by_scope: dict[Scope, list[Call]] = {}
    for call in (*stored_writes(facts), *_built(facts)):
        scope = facts.named_function_of(call)
        if scope is not None and not facts.handlers_around(call):
            by_scope.setdefault(scope, []).append(call)
    open_ = tuple(transactions(facts)) if by_scope else ()
    for scope, writes in by_scope.items():
        if len(writes) < 2 or _WORKS.search(facts.text(scope.span)):
            continue
        if any(is_within(scope.body, one.span) or is_within(one.span, scope.body) for one in open_):
            continue
        if any(is_within(each.span, one.span) for each in facts.callers_of(scope) for one in open_):
            continue
        if any(re.search(r"\b(tx|trx|manager|em|entityManager)\b", each.name) for each in scope.parameters):
            continue
        if _SEEDS.search(scope.name):
            continue
        for first, second in combinations(sorted(writes, key=lambda each: each.span), 2):
            if facts.are_exclusive(first, second) or _is_apart(first, second, facts):
                continue
            if _is_of_others(first, second, facts) or _is_of_another_form(first, second, facts):
                continue
            if _is_cleaned(first, second, scope):
                continue
            what = f"{second.written}() may fail after {first.written}() has been done"
            yield Hit(second.span, what, POSSIBLE)
            break


def _built(facts: Facts) -> Iterator[Call]:
    """Yield writes of query builders and models of JavaScript that do not run in a transaction."""
    if facts.language not in JAVASCRIPT or facts.imports_any("mongoose", "@nestjs/mongoose", "mongodb"):
        return
    known = {*stored_writes(facts), *(sql.call for sql in sql_calls(facts))}
    for remote in remote_calls(facts):
        call = remote.call
        if remote.kind != "database" or remote.is_read or remote.through is not None or call in known:
            continue
        head = re.split(r"[.(]", call.written.removeprefix("self."))[0]
        # What a function is given may be a transaction, as in a migration.
        if any(each.name == head for scope in facts.functions_around(call) for each in scope.parameters):
            continue
        if call.is_awaited and not re.fullmatch(
            r"tx|trx|t|transaction|em|manager|client|conn\w*|runner", head
        ):
            yield call


def _asks_between(first: Call, second: Call, facts: Facts) -> bool:
    """Return whether another service is asked between two calls."""
    between = Span(first.span.end, second.span.start)
    asked = [*service_calls(facts), *(each.call for each in remote_calls(facts) if each.kind == "http")]
    return any(is_within(each.span, between) for each in asked) or any(
        _SENDS.match(each.method) and each.receiver_written and not is_logging(each)
        for each in facts.within(facts.calls, between)
    )


_SENDS = lazy_regex(
    r"^(notify|deliver|send_?(mail|email|sms|message|notification)|charge|upload)(Async)?$", re.IGNORECASE
)


_SEEDS = lazy_regex(r"(?:^|[._])[sS]eed|Seed(?:er)?(?:\.|$)|(?:^|[._])(?:fix|backfill|migrate)_")
"""Functions that fill or mend a database, and run again until it is done."""
_NEXT = frozenset(
    ("then", "catch", "finally", "andThen", "flatMap", "thenCompose", "and_then", "ContinueWith")
)


def _is_of_others(first: Call, second: Call, facts: Facts) -> bool:
    """Return whether two calls stand in functions side by side, such as handlers of two routes."""
    mine, others = ([*facts.functions_around(each)] for each in (first, second))
    if mine[-1] in others or others[-1] in mine:
        return False
    return not any(each.method in _NEXT for each in (*facts.calls_around(first), *facts.calls_around(second)))


_OF_FORM = lazy_regex(r"\bin\s+(?:self\.)?request\.(?:POST|form|data|GET)\b|\b(?:action|intent)\b\W*===?")


def _is_of_another_form(first: Call, second: Call, facts: Facts) -> bool:
    """Return whether two writes belong to different forms of a page: `if "rename" in request.POST`."""
    asked = [
        step
        for scope in (facts.named_function_of(first),)
        if scope is not None
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "branch" and (_OF_FORM.search(step.text) or _IS.search(step.text))
    ]
    mine, others = ({each for each in asked if is_within(call.span, each.span)} for call in (first, second))
    if not mine - others or not others - mine:
        return False
    one, other = ({found for each in steps for found in _IS.findall(each.text)} for steps in (mine, others))
    texts = [each.text for each in (*(mine - others), *(others - mine))]
    return all(map(_OF_FORM.search, texts)) or any(
        name == again and value != different for name, value in one for again, different in other
    )


_IS = lazy_regex(r"\b([\w.]+?)(?:\s*===?\s*|\.starts_?[wW]ith\()\s*([\"'][^\"']+[\"'])")
"""`kind == "a"`, `name.startswith("a")`."""


def _is_apart(first: Call, second: Call, facts: Facts) -> bool:
    """Return whether another service is asked between two writes, so that no transaction can hold both, or
    one thing is written twice: its state before and after the work."""
    if _asks_between(first, second, facts):
        return True
    if facts.language == "csharp":
        between = Span(first.span.end, second.span.start)
        return first.method == second.method and not _changes_in(between, facts)
    if first.method == "commit":
        return False
    same = first.receiver_written == second.receiver_written and first.method == second.method
    if not same:
        return False
    one, other = (each.argument(place=0) for each in (first, second))
    named = one is None or other is None or one.value.text == other.value.text
    return named or facts.loops_around(first) != facts.loops_around(second)


_REMOVES = lazy_regex(r"^(destroy|delete\w*|remove\w*|Delete\w*|Remove\w*)$")
_CLEANS = lazy_regex(r"clean|purge|prune|expire|sweep|vacuum|garbage|trim|retention", re.IGNORECASE)


def _is_cleaned(first: Call, second: Call, scope: Scope) -> bool:
    """Return whether two removals belong to a job that removes what is old, whatever it did before."""
    both = all(_REMOVES.match(each.method) for each in (first, second))
    return both and _CLEANS.search(scope.name) is not None


def _changes_in(span: Span, facts: Facts) -> bool:
    """Return whether a span changes anything that the next commit would write."""
    return any(facts.within(facts.assignments, span)) or any(
        not is_logging(call) for call in facts.within(facts.calls, span)
    )


def _commits_between(writes: list[SqlCall], facts: Facts) -> bool:
    first, last = writes[0].call.span.end, writes[-1].call.span.start
    commits = [call for call in facts.calls_of_method("commit") if first <= call.span.start <= last]
    autocommit = any("autocommit" in target for each in facts.assignments for target in each.targets) or any(
        argument.name.rpartition(".")[2] == "autocommit" and argument.value.shape == "true"
        for call in facts.calls
        for argument in call.arguments
    )
    return bool(commits) or autocommit


def _first_two(writes: list[SqlCall], facts: Facts) -> tuple[Call, Call] | None:
    """Return two writes of which both can happen in one run of the function."""
    # The last expression of a lambda of Kotlin is its value, and leaves nothing.
    stays = facts.language == "kotlin"
    able = [sql for sql in writes if stays or not sql.call.is_returned or sql is writes[-1]]
    for first, second in combinations(able, 2):
        if not facts.are_exclusive(first.call, second.call) and not _is_same_row(first, second):
            return first.call, second.call
    return None


RULE = Rule(
    id="FK-R017",
    slug="writes-without-transaction",
    title="Writes that belong together without a transaction",
    why="A failure between the two leaves half of the change in the database, and no retry can repair it.",
    fix="Do both in one transaction that is committed once and rolled back on errors.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
