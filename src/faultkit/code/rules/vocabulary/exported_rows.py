"""Queries of exports whose rows are all held before the first is written.

An export grows with the data, and needs no more than one row at a time. Lists of one order or page that a
function writes out are short: the name of a function, of its class or of its route must say that it exports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_WORDS = r"export|dump|backup|extract|download|csv|ndjson|jsonl|xlsx|feed|statement|ledger|archive"
_EXPORTS = NamePattern(_WORDS, re.IGNORECASE)
_MAY_EXPORT = TextPattern(_WORDS, re.IGNORECASE)
_WRITES = NamePattern(r"^(write|Write|print|Print|append(?=Line|Row|To)|emit)\w*$")
_SINK = lazy_regex(
    r"(^|[._])_?(\w*[wW]riter|out|w|bw|pw|res|response|stream|\w*[sS]tream|csv\w*|sheet|file|f|fh|sink|os|output|buffer)$"
)
_HELD = frozenset(
    (
        "ToListAsync", "ToArrayAsync", "ToList", "ToArray", "all", "fetchall", "fetch_all", "toArray",
        "findMany", "findAll", "find", "getMany", "getResultList", "list", "into", "toList", "load", "fetch",
        "query", "queryForList", "QueryAsync", "Query",
    )
)  # fmt: skip
_FINDS = NamePattern(r"^(find|list|load|get|fetch|query|search|read)(All)?[A-Z]\w*$")
_LIMITED = lazy_regex(
    r"limit|\btake\b|\bTake\b|page|\btop\b|\bTop\d|\bfirst\b|offset|cursor|skip|chunk|iterator|max_?results|yield_per|stream"
    r"|fetch\s+(?:first|next)",
    re.IGNORECASE,
)
_NO_LIMIT = lazy_regex(
    r"Limit\.unlimited\(\)|Pageable\.unpaged\(\)|\.batch_?[sS]ize\([^()]*\)|setFetchSize\([^()]*\)"
)


def exported_rows(facts: Facts) -> Iterator[Call]:
    """Yield queries of exports that hold all rows, which a loop then writes one by one."""
    reads = {
        each.call
        for each in (remote_calls(facts) if facts.loops else ())
        if each.is_read and each.kind == "database" and each.through is None
    }
    # To search the whole text takes longest.
    for loop in facts.loops if reads and _MAY_EXPORT.is_in(facts.whole_text) else ():
        if loop.kind != "each" or loop.is_async or not loop.over.isidentifier() or facts.loops_around(loop):
            continue
        scope = facts.named_function_of(loop)
        made = facts.assignments_to(loop.over, loop)
        call = made[0].call if len(made) == 1 else None
        if scope is None or call is None or facts.named_function_of(call) is not scope:
            continue
        if call not in reads and not {*chain_of(call)} & reads:
            continue
        if not _is_held(call, facts) or facts.loops_around(call) or not _is_export(scope, facts):
            continue
        if any(_is_write(each) for each in facts.within(facts.calls, loop.body)):
            yield call


def _is_held(call: Call, facts: Facts) -> bool:
    """Return whether a call gives a list of all rows that match."""
    if call.method not in _HELD and not (facts.language in ("java", "kotlin") and _FINDS.match(call.method)):
        return False
    return _LIMITED.search(_NO_LIMIT.sub("", facts.text_with_values(call))) is None


def _is_export(scope: Scope, facts: Facts) -> bool:
    around = [*facts.functions_around(scope), scope]
    paths = " ".join(each.route.path for each in around if each.route is not None)
    return _EXPORTS.search(f"{scope.name} {scope.owner} {paths}") is not None


def _is_write(call: Call) -> bool:
    """Return whether a call writes to a file, an answer or another stream, itself or by a function."""
    if not _WRITES.match(call.method):
        return False
    if _SINK.search(call.receiver_written):
        return True
    return any(_SINK.search(each.value.text) for each in call.positional[:1])
