"""Finds independent awaits that run one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.service_clients import service_calls

_READS = lazy_regex(r"^_?(fetch|load|get|list|query|find|lookup|count|read|search)(_|[A-Z]|$)")
_ONE_AT_A_TIME = lazy_regex(
    r"(^|[._])(session|tx|trx|conn|connection|cursor|cur|db|redis|lock|queue|reader|request|req)$", re.I
)
"""Objects that do one thing at a time: concurrent calls are an error or no gain."""
_QUERIES = frozenset(("find_many", "find_unique", "find_first", "findMany", "findUnique", "findFirst"))
"""Methods of Prisma, whose names nothing else has."""
_OF_STORE = lazy_regex(
    r"\b(models|db)\.\w+$|(store|repository|repo|dao|[_.]table)(V?\d+)?(\(\))?$", re.IGNORECASE
)
"""Objects that ask the database, by their names."""
_SHARED = lazy_regex(
    r"\b(trx|tx|transacting|transaction|txOptions|txn|session|conn|connection|db|cursor|options|opts|ctx)\b"
)
"""Arguments that both calls share and that can do one thing at a time, or may hold such a thing."""
_FIRST = lazy_regex(r"token|auth|login|csrf|permission|current_?user", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    safe = {request.call for request in http_requests(facts) if request.is_safe}
    # Queries share a pool or a transaction: together they gain little.
    queries = {remote.call for remote in remote_calls(facts) if remote.kind == "database"}
    if facts.language in ("csharp", "kotlin", "rust"):
        reads = list(_service_reads(safe, facts))
    else:
        reads = [
            call
            for call in facts.calls
            if call.is_awaited
            and call not in queries
            and call.method not in _QUERIES
            and not _OF_STORE.search(call.receiver_written)
            and _is_read(call, safe)
        ]
    found = list[tuple[Call, Call]]()
    for first, second in pairwise(reads):
        scope = facts.function_of(first)
        if scope is None or facts.function_of(second) is not scope or is_within(second.span, first.span):
            continue
        between = Span(first.span.end, second.span.start)
        if _is_guarded(between, facts) or _places(first, facts) != _places(second, facts):
            continue
        if facts.are_exclusive(first, second) or _is_ordered(first, second, between, facts):
            continue
        if _needs(second, first, between, facts):
            continue
        found.append((first, second))
    for first, second in found:
        # Two are seldom worth it where each needs a name of its own for its task.
        if facts.language in ("csharp", "kotlin", "rust") and not any(second is each for each, _ in found):
            continue
        what = f"{second.written}() waits for {first.written}(), though it needs nothing of it"
        yield Hit(second.span, what, LIKELY if {first, second} <= safe else POSSIBLE)


_WRITES = lazy_regex(
    r"^(create|update|save|send|post|put|delete|charge|publish|upsert|insert|refund|capture|cancel|notify|submit|set|add"
    r"|remove|reserve|login|auth|token|connect|open|start|register|confirm|pay|book|place|debit|credit|release|lock)",
    re.IGNORECASE,
)


def _service_reads(safe: set[Call], facts: Facts) -> Iterator[Call]:
    """Yield calls that ask another service and whose answer has a name (C#, Kotlin, Rust)."""
    asked = {*service_calls(facts)} | safe
    for call in facts.calls:
        if call not in asked or not call.assigned or not call.arguments or _WRITES.match(call.method):
            continue
        if call.is_awaited or (facts.language == "kotlin" and facts.is_in_async(call)):
            yield call


def _is_read(call: Call, safe: set[Call]) -> bool:
    if call in safe:
        return True
    if _ONE_AT_A_TIME.search(call.receiver_written) or _FIRST.search(call.method):
        return False
    return _READS.match(call.method) is not None and bool(call.assigned) and bool(call.arguments)


def _is_ordered(first: Call, second: Call, between: Span, facts: Facts) -> bool:
    """Return whether they run on one transaction, or something is done in between that may decide on the
    second: a check, a write."""
    texts = (facts.text(first.span), facts.text(second.span))
    if any(
        _SHARED.search(text[len(call.written) :]) for call, text in zip((first, second), texts, strict=True)
    ):
        return True
    return any(
        (each.is_discarded or each.is_awaited) and not is_logging(each)
        for each in facts.within(facts.calls, between)
    )


def _is_guarded(between: Span, facts: Facts) -> bool:
    """Return whether a decision stands in between."""
    if any(
        step.kind in ("branch", "return", "raise", "yield") for step in facts.within(facts.steps, between)
    ):
        return True
    # An expression that holds both, such as `a or await b`.
    return (
        between.end - between.start > 600
        or re.search(r"\bor\b|\|\||&&|\?\?|\?", facts.text(between)) is not None
    )


def _places(call: Call, facts: Facts) -> tuple[int, ...]:
    around = [each.span for each in facts.loops if is_within(call.span, each.body)]
    around += [each.body for each in facts.tries if is_within(call.span, each.body)]
    around += [each.span for each in facts.steps if each.kind == "branch" and is_within(call.span, each.span)]
    around += [
        handler.span
        for each in facts.tries
        for handler in each.handlers
        if is_within(call.span, handler.span)
    ]
    return tuple(sorted(span.start for span in around))


def _needs(second: Call, first: Call, between: Span, facts: Facts) -> bool:
    names = set(first.assigned)
    after = Span(max(0, first.span.start - 1), between.end)
    for each in facts.assignments:
        if is_within(first.span, each.span) or is_within(each.span, after):
            names.update(each.targets)
    words = {word for name in names for word in re.findall(r"[A-Za-z_]\w*", name)} - {"const", "let", "self"}
    text = facts.text(second.span)
    return not words or any(re.search(rf"(?<![\w.]){re.escape(word)}\b", text) for word in words)


RULE = Rule(
    id="FK-P005",
    slug="sequential-awaits",
    title="Independent awaits one after another",
    why="The caller waits for the sum of all times instead of for the longest of them.",
    fix="Start them together: asyncio.gather or a TaskGroup, Promise.all, Task.WhenAll, try_join.",
    kind="performance",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *CSHARP, *KOTLIN, *RUST),
    check=_check,
)
