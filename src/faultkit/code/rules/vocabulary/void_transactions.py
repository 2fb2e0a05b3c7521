"""Transactions that have no effect: not begun, or never committed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.stored_writes import stored_writes

_WRITES = lazy_regex(
    r"^(save|saveAll|insert|update|delete|deleteBy\w*|persist|merge|debit|credit|book|reserve|create|upsert|batchUpdate"
    r"|executeUpdate)([A-Z]\w*)?$"
)


def void_transactions(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield places of such transactions, each with what is wrong."""
    if facts.language in ("java", "kotlin") and "Transactional" in facts.whole_text:
        yield from _called_inside(facts)
    if facts.language in ("rust", "csharp"):
        yield from _never_committed(facts)
    if facts.language == "csharp":
        yield from _left_by_await(facts)


def _mark(scope: Scope) -> Call | None:
    return next((each for each in scope.decorators if each.method == "Transactional"), None)


def _class_is_marked(scope: Scope, facts: Facts) -> bool:
    name = re.escape(scope.owner.rpartition(".")[2])
    return re.search(rf"@Transactional\b[^;{{}}]*\bclass\s+{name}\b", facts.whole_text) is not None


def _writes(scope: Scope, facts: Facts) -> int:
    known = {*stored_writes(facts)}
    return sum(
        1
        for call in facts.within(facts.calls, scope.body)
        if call in known or (call.receiver_written and call.arguments and _WRITES.match(call.method))
    )


def _called_inside(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield calls of a method with @Transactional on the object itself, which the proxy does not see."""
    for scope in facts.scopes:
        if _mark(scope) is None or not scope.name or _writes(scope, facts) < 2:
            continue
        for call in facts.callers_of(scope):
            caller = facts.named_function_of(call)
            if caller is None or caller is scope or caller.owner != scope.owner:
                continue
            if _mark(caller) is None and not _class_is_marked(scope, facts):
                what = f"{call.written}() is called on the object itself, where @Transactional has no effect"
                yield call.span, what


_BEGINS = lazy_regex(r"^(begin|begin_with|BeginTransaction(Async)?)$")


_LENT = lazy_regex(r"\.(?:Execute|Query)\w*\([^;]*;")
"""Statements that are given a transaction and leave its end to others (C#)."""


def _never_committed(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield transactions that a function begins, writes in, and neither commits nor passes on."""
    for call in facts.calls_with_method(_BEGINS.match):
        scope = facts.named_function_of(call)
        if scope is None or not call.assigned or call.is_returned:
            continue
        name = call.assigned[0].removeprefix("mut ").strip()
        if not name.isidentifier() or name == "_" or not call.receiver_written:
            continue
        whole = text = facts.text(Span(call.span.end, scope.body.end))
        word = re.escape(name)
        ended = re.search(
            rf"\b{word}\s*\.\s*(?:commit|Commit|rollback\(\)\s*\.await|Complete)|return[^;\n]*\b{word}\b",
            text,
        )
        # `save(tx, …)` and `store.with(tx)` may commit it; `&mut tx` is only lent.
        text = _LENT.sub("", text) if facts.language == "csharp" else text
        given = re.search(rf"[(,]\s*{word}\s*[,)]|[:=]\s*{word}\b|\b(?:Ok|Some)\([^)]*\b{word}\b", text)
        lent = re.search(
            rf"&mut\s+\*?\**{word}\b|\b{word}\.(?:Exec|execute|Query)\w*\(|Transaction\s*=\s*{word}", whole
        ) or re.search(rf"\.(?:Execute|Query)\w*\([^;]*[,:]\s*{word}\s*[,)]", whole)
        if ended is None and lent is not None and given is None:
            yield call.span, f"what {call.written}() begins is never committed, and its writes are undone"


def _left_by_await(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `new TransactionScope()` in async code: behind an await, nothing belongs to it (C#)."""
    for call in facts.calls_of_method("TransactionScope"):
        if not call.constructs or not facts.is_in_async(call):
            continue
        if "AsyncFlowOption" not in facts.text(call.span):
            what = (
                f"{call.written}() is not passed on over an await: the writes behind one do not belong to it"
            )
            yield call.span, what
