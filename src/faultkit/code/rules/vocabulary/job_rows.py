"""Queries of jobs that load all rows that match at once, though a program works on them batch by batch.

That a list is cut into batches shows that it may be long; a list of a schedule's job grows with the data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.cut_rows import holders, loads_of_matching
from faultkit.code.rules.vocabulary.jobs import is_job
from faultkit.code.rules.vocabulary.remote_calls import chain_of

_BATCHES = frozenset(("chunked", "Chunk", "Batch", "chunks", "chunk", "partition", "batched", "Chunks"))
_FUNCTIONS = frozenset(("chunk", "partition", "batched", "chunked", "Chunk", "batches", "chunks"))
_OF_PARENT = lazy_regex(r"[a-z]Id$|(?i:where\s.*\b\w+_id\s*=)", re.DOTALL)
_GROWS = lazy_regex(r"Before|LessThan|After|IsNull|OlderThan")


def job_rows(facts: Facts) -> Iterator[Call]:
    """Yield queries without a limit, in jobs, whose rows are worked on in batches or grow with time."""
    for load in loads_of_matching(facts):
        scope = facts.named_function_of(load)
        if scope is None or not is_job(scope) or _OF_PARENT.search(load.method):
            continue
        if _OF_PARENT.search(facts.text(load.span)) or facts.loops_around(load):
            continue
        if _is_cut(load, scope, facts) or _is_scheduled_list(load, scope, facts):
            yield load


def _is_cut(load: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the rows are cut into batches."""
    names = holders(load, facts)
    for call in facts.within(facts.calls, scope.body):
        if call.method in _BATCHES and load in chain_of(call) and call.arguments:
            return True
        first = call.argument(place=0)
        if call.method in _FUNCTIONS and first is not None and first.value.text in names:
            return True
    after = facts.text(Span(load.span.end, scope.body.end))
    return any(
        re.search(
            rf"(?<![\w.]){re.escape(name)}(\[\s*(\w+)\s*:\s*(\2\s*\+|\w+\s*\])"
            rf"|\.(slice|subList|GetRange)\(\s*(i|start|offset|from|begin)\b)",
            after,
        )
        for name in names
    )


def _is_scheduled_list(load: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a schedule asks a repository of this text for a list that grows with time."""
    if not any(each.method == "Scheduled" for each in scope.decorators) or not _GROWS.search(load.method):
        return False
    declared = rf"\bList<\w+>\s+{load.method}\s*\(|\bfun\s+{load.method}\s*\([^)]*\)\s*:\s*List<"
    return re.search(declared, facts.whole_text) is not None
