"""Variables of a function that hold what it has read from a database, and numbers computed from it."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls

_READS = frozenset(
    (
        "findById", "findOne", "findByPk", "findUnique", "findFirst", "findUniqueOrThrow", "findFirstOrThrow",
        "findOneBy", "findOneByOrFail", "findOneOrFail", "find_one", "find_by_id", "getById",
        "getReferenceById", "getOne", "queryForObject", "fetchval", "fetchrow", "executeTakeFirst",
        "executeTakeFirstOrThrow", "fetch_one", "fetch_optional", "query_one", "query_opt", "scalar_one",
        "scalar_one_or_none", "scalar", "one", "one_or_none", "first", "get_or_404", "fetchone",
        # C#, also with `Async` at the end, and Go.
        "First", "FirstOrDefault", "Single", "SingleOrDefault", "Find", "QuerySingle", "QueryFirst",
        "ExecuteScalar", "QuerySingleOrDefault", "QueryFirstOrDefault", "GetById", "Get",
    )
)  # fmt: skip
"""Methods that read one row or value."""
_READ_BY_NAME = NamePattern(
    r"\.(findBy[A-Z]\w*|awaitSingle\w*|awaitOne\w*)$|get_object_or_404$|[sS]ession\w*(\(\))?\.get$|objects\.get$"
)
_PATH = r"(?:\.\w+|\[[\"'][\w-]+[\"']\]|\.get\w*\(\)|\?\.\w+)"
_COMPUTED = lazy_regex(
    rf"^[(\s]*(?:[A-Za-z]\w*\()?\(?(\w+)[!?]?({_PATH})?[!?]?(?:\s*(?:\?\?|or|\|\|)\s*\w+)?\)?\)?"
    r"\s*(?:[+\-]\s*[\w.(]|\.(?:add|subtract|plus|minus)\()"
)
"""`row.balance - cents`, `row["balance"] - cents`, `balance - cents`, `account.getBalance().subtract(x)`."""
_FIELD = lazy_regex(r"\w+")


def read_names(scope: Scope, facts: Facts) -> dict[str, Call]:
    """Return the variables that hold rows or values that a function has read, with that call."""
    known = _database_reads(facts)
    found: dict[str, Call] = {}
    for each in facts.within(facts.assignments, scope.body):
        if each.value is None or len(each.targets) > 2 or each.operator not in ("=", ":="):
            continue
        first = each.call or first_call(each, facts)
        if first is None:
            continue
        made = next((call for call in (first, *chain_of(first)) if _is_read(call, known)), None)
        name = each.targets[0].strip("{} ")
        if made is not None and name.isidentifier() and name != "err":
            found.setdefault(name, made)
    if facts.language == "go":
        _add_scanned(found, known, scope, facts)
    return found


@lru_cache(maxsize=4)
def _database_reads(facts: Facts) -> frozenset[Call]:
    return frozenset(each.call for each in remote_calls(facts) if each.is_read and each.kind == "database")


def first_call(each: Assignment, facts: Facts) -> Call | None:
    """Return the call with which a value begins: `repo.find(id)` of `repo.find(id) ?: throw Missing(id)`."""
    if each.value is None or each.value.shape == "function":
        return None
    start = each.value.span.start
    found = [call for call in facts.within(facts.calls, each.value.span) if call.span.start == start]
    return max(found, key=lambda call: call.span.end, default=None)


def _is_read(call: Call, known: frozenset[Call]) -> bool:
    if call in known or ("." in call.name and call.method.removesuffix("Async") in _READS):
        return True
    return _READ_BY_NAME.search(call.name) is not None


def _add_scanned(found: dict[str, Call], known: frozenset[Call], scope: Scope, facts: Facts) -> None:
    """Add what `row.Scan(&x)` and `db.First(&x)` have filled."""
    for call in facts.within(
        facts.calls_of_method("Scan", "First", "Take", "Find", "Get", "GetContext"), scope.body
    ):
        is_row = call.method != "Scan" or bool({*chain_of(call)} & known) or "Query" in call.name
        for argument in call.positional if is_row else ():
            name = argument.value.text.lstrip("&")
            if argument.value.text.startswith("&") and name.isidentifier():
                found.setdefault(name, call)


def field_computed(text: str, read: dict[str, Call]) -> tuple[str, str] | None:
    """Return the variable and the field from which an expression computes a number; None if it does not."""
    found = _COMPUTED.match(text)
    if found is None or found[1] not in read:
        return None
    field = "" if found[2] is None else _FIELD.findall(found[2])[-1]
    return found[1], re.sub(r"^get(?=[A-Z])", "", field)


def computed_names(scope: Scope, read: dict[str, Call], facts: Facts) -> dict[str, tuple[str, str]]:
    """Return variables that hold a number that was computed from a row, with the row and its field."""
    found: dict[str, tuple[str, str]] = {}
    for each in facts.within(facts.assignments, scope.body):
        if len(each.targets) == 1 and each.targets[0].isidentifier() and each.value is not None:
            made = _computed(each, read)
            if made is not None:
                found[each.targets[0]] = made
    return found


def _computed(each: Assignment, read: dict[str, Call]) -> tuple[str, str] | None:
    assert each.value is not None
    if each.operator in ("+=", "-=") and each.targets[0] in read:
        return each.targets[0], ""
    return field_computed(each.value.text, read) if each.operator in ("=", ":=") else None
