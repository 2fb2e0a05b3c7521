"""Finds HTTP requests and waits inside a database transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_MANAGED = re.compile(r"(^|\.)(transaction\.atomic|atomic|begin|begin_nested)$|\.transaction\(?\)?$")
_GIVEN = re.compile(
    r"(^|\.)(\$transaction|transaction|Transaction|RunInTx|RunInTransaction|inTransaction|executeWithoutResult)$"
)
_DECORATORS = frozenset(("Transactional", "atomic", "transaction.atomic", "django.db.transaction.atomic"))
_BEGINS = frozenset(("Begin", "BeginTx", "Beginx", "BeginTxx"))


def _check(facts: Facts) -> Iterator[Hit]:
    waits = {request.call for request in http_requests(facts)}
    waits |= {each.call for each in remote_calls(facts) if each.kind == "http"}
    if not waits:
        return
    for call in sorted(waits, key=lambda each: each.span):
        if call.is_launched or call.is_deferred:
            continue
        if (what := _transaction_around(call, facts)) is not None:
            yield Hit(call.span, f"{call.written}() waits for another service while {what} is open", LIKELY)


def _transaction_around(call: Call, facts: Facts) -> str | None:
    for each in facts.managed_around(call):
        if _MANAGED.search(each.name) or _MANAGED.search(each.written):
            return f"the transaction of {each.written or each.name}"
    for each in facts.calls_around(call):
        if _GIVEN.search(each.written) and _runs_now(each, call):
            return f"the transaction of {each.written}"
    scope = facts.named_function_of(call)
    if scope is None:
        return None
    if any(each.method in _DECORATORS or each.name in _DECORATORS for each in scope.decorators):
        return "the transaction of its function" if _is_in_transaction(scope) else None
    return _begun(call, scope, facts) if facts.language == "go" else None


def _runs_now(outer: Call, call: Call) -> bool:
    """Return whether the call stands in a function that the transaction is given."""
    return any(
        each.value.shape == "function" and is_within(call.span, each.value.span) for each in outer.arguments
    )


def _is_in_transaction(scope: Scope) -> bool:
    """Return whether the decorator opens one: not with NOT_SUPPORTED, NEVER or SUPPORTS."""
    return not any(
        re.search(r"NOT_SUPPORTED|NEVER|SUPPORTS", argument.value.text)
        for each in scope.decorators
        for argument in each.arguments
    )


def _begun(call: Call, scope: Scope, facts: Facts) -> str | None:
    """Return the transaction of Go between `tx, err := db.Begin()` and `tx.Commit()`."""
    for begin in facts.own(facts.calls_of_method(*_BEGINS), scope):
        if not begin.assigned or begin.span.end > call.span.start:
            continue
        name = begin.assigned[0]
        ends = [
            each.span.start
            for each in facts.within(facts.calls_of_method("Commit"), Span(begin.span.end, scope.body.end))
            if each.receiver_written == name and not each.is_deferred
        ]
        if ends and call.span.start < max(ends):
            return f"the transaction {name}"
    return None


RULE = Rule(
    id="FK-P028",
    slug="call-in-transaction",
    title="Remote call inside a transaction",
    why="Its locks and its connection are held for as long as the other service takes; when that is slow, "
    "the pool is empty and other requests wait for the rows.",
    fix="Make the call before or after the transaction, or store what is to be sent and send it once it is "
    "committed.",
    kind="performance",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
