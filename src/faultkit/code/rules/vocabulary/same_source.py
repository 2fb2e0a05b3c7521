"""Reads for each row of a list that ask the same database as the query which made the list.

No library is known here. A query and a call in the loop over its rows share a handle, such as a connection, a
session or a context, and the call is given the row; or the call is on the row itself and is waited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.data_sizes import base_name
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of

_HANDLE = NamePattern(
    r"^_?(db|database|conn|connection|pool|session|db_?session|em|entity_?manager|tx|trx|transaction|prisma|knex|orm|queries"
    r"|q|repo(sitory)?|\w*_repo(sitory)?|\w+Repo(sitory)?|\w+Db|\w+DB|\w+_db|db_?context|manager|ds|data_?source|context|ctx_db"
    r"|sql|jdbi|handle|client|dsl|store)$",
    re.IGNORECASE,
)
_TYPE = NamePattern(
    r"(Connection|Pool|EntityManager|Session|Kysely|DataSource|Database|DbContext|Transaction|Queries|Knex|Executor|PrismaClient"
    r"|DSLContext|Jdbi|Handle|SqlClient|Db|DB)$"
)
_READS = NamePattern(
    r"^_?(find\w*|get\w*|load\w*|fetch\w*|query\w*|select\w*|count\w*|list\w*|read\w*|all|one|first\w*|only\w*|exists?\w*|any\w*|sum\w*"
    r"|scalar\w*|to_?list\w*|to_?array\w*|single\w*|last\w*|execute(Take|Scalar)\w*|fetchall|stream|aggregate\w*|lookup\w*"
    r"|search\w*|ids?|populate|reload|refresh|fetch_related|take|collect)$",
    re.IGNORECASE,
)
_WRITES = NamePattern(
    r"(save|insert|update|delete|remove|create|upsert|persist|merge|destroy|add|set|write|put|execute|exec|push|send|publish|commit"
    r"|close|rollback|attach|detach|lock|begin)",
    re.IGNORECASE,
)
_CONTEXT = lazy_regex(r"^(\w*[cC]tx|c\.Request\.Context\(\)|r\.Context\(\)|context\.\w+\(\))$")
_NAME = lazy_regex(r"[A-Za-z_]\w*")

_IN_MEMORY = frozenset(
    ("collect", "into_iter", "ToDictionary", "ToLookup", "associateBy", "groupBy", "toMap")
)
"""Methods that make a map or list of rows; what is asked of that asks no database."""


def asked_for_each_row(facts: Facts) -> Iterator[tuple[Call, Loop]]:
    """Yield reads that are made for each row of what the same database returned before."""
    for loop in facts.loops:
        if loop.kind not in ("each", "comprehension") or not loop.targets or loop.is_async:
            continue
        sources = _sources(loop, facts)
        if not sources:
            continue
        handles = {name for each in sources for name in _handles(each, facts)}
        has_context = any(_takes_context(each) for each in sources)
        if not handles and not has_context:
            continue
        items = {word for target in loop.targets for word in _NAME.findall(target)} - {
            "_", "const", "let", "var", "i", "index",
        }  # fmt: skip
        seen = list[Span]()
        for call in facts.within(facts.calls, loop.body):
            if any(is_within(call.span, each) for each in seen) or not _is_sent(call, facts):
                continue
            chain = (call, *chain_of(call))
            if not _READS.match(call.method) or any(_WRITES.match(each.method) for each in chain):
                continue
            if ends_with_write(call, facts):
                continue
            if facts.loops_around(call)[-1:] != (loop,) or call in sources:
                continue
            if any(each.method in _IN_MEMORY for each in chain[1:]):
                continue
            if _is_on_item(call, items) and (has_context if facts.language == "go" else call.is_awaited):
                if facts.language != "go" or any(map(_takes_context, chain)):
                    seen.append(call.span)
                    yield call, loop
            elif handles & {*_handles(call, facts)} and items & {*_NAME.findall(_given(chain, facts))}:
                seen.append(call.span)
                yield call, loop


def _sources(loop: Loop, facts: Facts) -> list[Call]:
    """Return the calls that made the list of a loop."""
    base = base_name(loop.over)
    made = [each.call for each in facts.assignments_to(base, loop)] if base else []
    found = [each for each in made if each is not None]
    found += [each for each in facts.within(facts.calls, loop.head) if each.method != "map"]
    if facts.language == "go" and base:
        found += [
            call
            for call in facts.calls_of_method("Find", "Select", "SelectContext", "All", "CollectRows")
            if any(each.value.text == f"&{base}" for each in call.arguments)
        ]
    return [each for each in found if _READS.match(each.method)]


def _handles(call: Call, facts: Facts) -> Iterator[str]:
    """Yield the names of what a call and those before it in its chain ask, or are given to ask."""
    scope = next(facts.functions_around(call), None)
    typed = (
        {each.name.removeprefix("mut ") for each in scope.parameters if _TYPE.search(each.type)}
        if scope is not None
        else set()
    )
    for each in (call, *chain_of(call)):
        root = re.sub(r"\(.*", "", each.receiver_written, flags=re.DOTALL)
        parts = [part for part in root.split(".") if part not in ("self", "this")][:2]
        names = [*parts, *(re.sub(r"^&(mut )?\*?", "", one.value.text) for one in each.positional[:3])]
        for name in names:
            last = name.rpartition(".")[2]
            if last in typed or (last.isidentifier() and _HANDLE.match(last)):
                yield last


def ends_with_write(call: Call, facts: Facts) -> bool:
    """Return whether a query that begins as a read writes: `rows.filter(open=True).update(open=False)`."""
    return any(_WRITES.match(each.method) for each in _later(call, facts))


def _later(call: Call, facts: Facts) -> Iterator[Call]:
    """Yield the calls on the result of a call: of `session.ID(key).Update(row)` the update."""
    for each in facts.calls_on(call):
        if each.span.start == call.span.start:
            yield each
            yield from _later(each, facts)


def _given(chain: tuple[Call, ...], facts: Facts) -> str:
    """Return the arguments of a chain of calls."""
    return " ".join(each.value.text for call in chain for each in call.arguments)


def _takes_context(call: Call) -> bool:
    first = call.argument(place=0)
    return first is not None and _CONTEXT.match(first.value.text) is not None


def _is_on_item(call: Call, items: set[str]) -> bool:
    head, _, rest = call.written.partition(".")
    return head in items and bool(rest)


def _is_sent(call: Call, facts: Facts) -> bool:
    """Return whether the answer of a call is used, as far as the language shows that."""
    if facts.language in ("javascript", "typescript", "tsx", "rust", "csharp"):
        return call.is_awaited or (facts.language == "rust" and bool(call.assigned)) or call.is_returned
    return True
