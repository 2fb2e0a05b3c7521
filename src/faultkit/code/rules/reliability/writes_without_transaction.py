"""Finds several writes that belong together without a transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import SqlCall, sql_calls

_BEGINS = re.compile(
    r"\b(begin|transaction|atomic|savepoint|BeginTx|withTransaction|in_transaction)"
    r"|setAutoCommit\(false|@Transactional",
    re.IGNORECASE,
)

_GIVEN = re.compile(r"^(tx|trx|con|conn|connection|session|em|handle|stmt|statement)$", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    by_scope: dict[Scope, list[SqlCall]] = {}
    for sql in sql_calls(facts):
        scope = facts.named_function_of(sql.call) or facts.function_of(sql.call)
        if sql.is_write and scope is not None:
            by_scope.setdefault(scope, []).append(sql)
    yield from _through_helpers(by_scope, facts)
    for scope, writes in by_scope.items():
        text = facts.text(scope.span)
        together = _first_two(writes, facts)
        if together is None or _BEGINS.search(text):
            continue
        receivers = {sql.call.receiver_written for sql in writes}
        if receivers & {"tx", "trx", "self.tx", "transaction", "session"}:
            continue
        first, second = together
        if facts.language == "python":
            between = _commits_between(writes, facts)
            if not between:
                # Without a commit in between, DB-API connections keep both in one transaction.
                continue
            yield Hit(second.span, f"{second.written}() is committed apart from the write before it", LIKELY)
        else:
            confidence = LIKELY if len(receivers) == 1 else POSSIBLE
            what = f"{second.written}() may fail after {first.written}() has been done"
            yield Hit(second.span, what, confidence)


def _through_helpers(by_scope: dict[Scope, list[SqlCall]], facts: Facts) -> Iterator[Hit]:
    """Yield the second of two calls of different methods of the same class that write (Java)."""
    if facts.language != "java" or _BEGINS.search(facts.whole_text):
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
                yield Hit(second.span, what, LIKELY)
                break


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
    calls = [sql.call for sql in writes if not sql.call.is_returned or sql is writes[-1]]
    for first, second in combinations(calls, 2):
        if not facts.are_exclusive(first, second):
            return first, second
    return None


RULE = Rule(
    id="FK-R017",
    slug="writes-without-transaction",
    title="Writes that belong together without a transaction",
    why="A failure between the two leaves half of the change in the database, and no retry can repair it.",
    fix="Do both in one transaction that is committed once and rolled back on errors.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
