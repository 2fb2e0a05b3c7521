"""Code that runs inside a database transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_BLOCKS = NamePattern(r"(^|\.)(transaction\.atomic|atomic|begin|begin_nested|transaction)$")
_DECORATORS = NamePattern(r"(^|\.)(Transactional|transaction\.atomic|atomic|commit_on_success)$")
_MANAGED = NamePattern(r"(^|\.)TransactionScope$")
_WRAPPERS = frozenset(
    (
        "$transaction",
        "transaction",
        "withTransaction",
        "Transaction",
        "RunInTransaction",
        "RunInTx",
        "inTransaction",
        "BeginFunc",
        "BeginTxFunc",
        "newSuspendedTransaction",
        "suspendTransaction",
        "useTransaction",
    )
)
_TEMPLATE = NamePattern(
    r"Transaction(Template|alOperator)\.(execute(WithoutResult|AndAwait)?|transactional)$"
)
_BEGINS = frozenset(
    (
        "Begin", "BeginTx", "Beginx", "BeginTxx", "beginTransaction", "begin", "BeginTransaction",
        "BeginTransactionAsync", "startTransaction", "begin_with", "build_transaction",
    )
)  # fmt: skip
_ENDS = frozenset(("Commit", "commit", "CommitAsync", "commitTransaction"))
_SQL_BEGIN = lazy_regex(r"^\s*(BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_SQL_COMMIT = lazy_regex(r"^\s*(COMMIT|END)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Transaction:
    """Code inside a transaction, and what opened that."""

    span: Span
    opened_by: str
    given: str = ""
    """The parameter by which the queries of a function know the transaction (JavaScript)."""


@lru_cache(maxsize=4)
def transactions(facts: Facts) -> tuple[Transaction, ...]:
    """Return the code that runs inside a transaction."""
    return tuple(_transactions(facts))


def _transactions(facts: Facts) -> Iterator[Transaction]:
    for call, body in facts.managed:
        if facts.language == "python" and _BLOCKS.search(call.name):
            yield Transaction(body, f"{call.written}()")
        elif facts.language == "csharp" and _MANAGED.search(call.name):
            yield Transaction(body, call.written)
    for scope in facts.scopes:
        for each in scope.decorators:
            if _DECORATORS.search(each.name) and not _is_none(each):
                yield Transaction(scope.body, f"@{each.written}")
        if facts.language in ("java", "kotlin") and _is_class_in_transaction(scope, facts):
            yield Transaction(scope.body, "@Transactional")
    templates = () if facts.language == "python" else facts.calls_with_name(_TEMPLATE.search)
    wrappers = () if facts.language == "python" else facts.calls_of_method(*_WRAPPERS)
    # In the order of the text, each once.
    opening = {*templates, *wrappers}
    for call in facts.calls if opening else ():
        if call in opening:
            for argument in call.positional:
                if argument.value.shape == "function":
                    function = facts.function_at(argument.value.span)
                    given = [each.name for each in function.parameters] if function is not None else []
                    is_given = len(given) == 1 and facts.syntax.language.family == "javascript"
                    yield Transaction(argument.value.span, f"{call.written}()", given[0] if is_given else "")
    yield from _between(facts)


def _is_none(annotation: Call) -> bool:
    """Return whether an annotation keeps transactions away, as with NOT_SUPPORTED."""
    given = annotation.argument("propagation", "value", place=0)
    return given is not None and re.search(r"NOT_SUPPORTED|NEVER|SUPPORTS\b", given.value.text) is not None


def _is_class_in_transaction(scope: Scope, facts: Facts) -> bool:
    """Return whether `@Transactional` stands before the class of a public method."""
    if not scope.owner or scope.owner.rpartition(".")[2] not in _classes_in_transaction(facts):
        return False
    text = facts.text(scope.head)
    # In Kotlin, a method is public unless it says otherwise.
    is_public = (
        re.search(r"\b(private|internal|protected)\b", text) is None
        if facts.language == "kotlin"
        else text.lstrip().startswith("public")
    )
    return is_public and scope.name != f"{scope.owner}.{scope.owner}"


_CLASS_HEAD = lazy_regex(r"@Transactional\b(?![^{;]*(?:NOT_SUPPORTED|NEVER|readOnly))([^{;]*)")
_CLASS = lazy_regex(r"\bclass\s+(\w+)")


@lru_cache(maxsize=4)
def _classes_in_transaction(facts: Facts) -> frozenset[str]:
    """Return the names of the classes that `@Transactional` stands before."""
    if b"@Transactional" not in facts.syntax.source:
        return frozenset()
    heads = _CLASS_HEAD.findall(facts.whole_text)
    return frozenset(name for head in heads for name in _CLASS.findall(head))


def _between(facts: Facts) -> Iterator[Transaction]:
    """Yield what stands between `db.Begin()` and the first commit after it, in one function."""
    for call in facts.calls_of_method(*_BEGINS):
        scope: Scope | None = facts.function_of(call)
        is_block = call.is_managed and facts.language != "csharp"
        if scope is None or is_block or (facts.language == "python" and not call.is_discarded):
            continue
        ends = [
            each.span.start
            for each in facts.own(facts.calls_of_method(*_ENDS), scope)
            if each.span.start > call.span.end
        ]
        if ends:
            yield Transaction(Span(call.span.end, min(ends)), f"{call.written}()")
    for call, scope in _sql(_SQL_BEGIN, facts):
        ends = [
            each.span.start
            for each, other in _sql(_SQL_COMMIT, facts)
            if other is scope and each.span.start > call.span.end
        ]
        if ends:
            yield Transaction(Span(call.span.end, min(ends)), f"{call.written}('BEGIN')")


def _sql(verb: re.Pattern[str], facts: Facts) -> Iterator[tuple[Call, Scope]]:
    """Yield `client.query("BEGIN")`, or the same for the end, with the function around it."""
    for call in facts.calls_of_method("query", "execute", "exec", "run", "Exec", "ExecContext"):
        texts = [each for each in call.positional[:2] if each.value.shape == "text"]
        scope = facts.function_of(call)
        if scope is not None and any(verb.match(each.value.literal) for each in texts):
            yield call, scope
