"""Code that runs inside a database transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span

_BLOCKS = re.compile(r"(^|\.)(transaction\.atomic|atomic|begin|begin_nested|transaction)$")
_DECORATORS = re.compile(r"(^|\.)(Transactional|transaction\.atomic|atomic|commit_on_success)$")
_WRAPPERS = frozenset(
    (
        "$transaction",
        "transaction",
        "withTransaction",
        "Transaction",
        "RunInTransaction",
        "RunInTx",
        "inTransaction",
    )
)
_TEMPLATE = re.compile(r"TransactionTemplate\.execute(WithoutResult)?$")
_BEGINS = frozenset({"Begin", "BeginTx", "Beginx", "beginTransaction", "begin"})
_ENDS = frozenset({"Commit", "Rollback", "commit", "rollback"})


@dataclass(frozen=True, slots=True)
class Transaction:
    """Code inside a transaction, and what opened that."""

    span: Span
    opened_by: str


def transactions(facts: Facts) -> Iterator[Transaction]:
    """Yield the code that runs inside a transaction."""
    for call, body in facts.managed:
        if facts.language == "python" and _BLOCKS.search(call.name):
            yield Transaction(body, f"{call.written}()")
    for scope in facts.scopes:
        for each in scope.decorators:
            if _DECORATORS.search(each.name) and not _is_none(each):
                yield Transaction(scope.body, f"@{each.written}")
        if facts.language == "java" and _is_class_in_transaction(scope, facts):
            yield Transaction(scope.body, "@Transactional")
    for call in facts.calls:
        if facts.language != "python" and (call.method in _WRAPPERS or _TEMPLATE.search(call.name)):
            for argument in call.positional:
                if argument.value.shape == "function":
                    yield Transaction(argument.value.span, f"{call.written}()")
    yield from _between(facts)


def _is_none(annotation: Call) -> bool:
    """Return whether an annotation keeps transactions away, as with NOT_SUPPORTED."""
    given = annotation.argument("propagation", "value", place=0)
    return given is not None and re.search(r"NOT_SUPPORTED|NEVER|SUPPORTS\b", given.value.text) is not None


def _is_class_in_transaction(scope: Scope, facts: Facts) -> bool:
    """Return whether `@Transactional` stands before the class of a public method."""
    if b"@Transactional" not in facts.syntax.source or not scope.owner:
        return False
    name = re.escape(scope.owner.rpartition(".")[2])
    head = rf"@Transactional\b(?![^{{;]*(?:NOT_SUPPORTED|NEVER|readOnly))[^{{;]*\bclass\s+{name}\b"
    is_public = facts.text(Span(scope.span.start, scope.body.start)).lstrip().startswith("public")
    return is_public and re.search(head.encode(), facts.syntax.source) is not None


def _between(facts: Facts) -> Iterator[Transaction]:
    """Yield what stands between `db.Begin()` and the first commit after it, in one function."""
    for call in facts.calls_of_method(*_BEGINS):
        scope: Scope | None = facts.function_of(call)
        if scope is None or call.is_managed or (facts.language == "python" and not call.is_discarded):
            continue
        ends = [
            each.span.start
            for each in facts.own(facts.calls_of_method(*_ENDS), scope)
            if each.method.lower() == "commit" and each.span.start > call.span.end
        ]
        if ends:
            yield Transaction(Span(call.span.end, min(ends)), f"{call.written}()")
