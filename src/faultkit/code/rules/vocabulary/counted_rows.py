"""Numbers of rows that a function compares with a limit, and then has the database make more or less.

`if voucher.left < 1: refuse`, then `filter(pk=…).update(left=F("left") - 1)`: no change is lost,
but two requests at once both pass the question. Statements in SQL are the business of `sql_updates`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.exits import refuses_caller
from faultkit.code.rules.vocabulary.row_guards import INSERT_GUARDS

_CHANGES = (
    "update", "decrement", "increment", "updateOne", "update_one", "findOneAndUpdate", "findByIdAndUpdate",
    "find_one_and_update", "UpdateColumn", "Update", "ExecuteUpdateAsync", "ExecuteUpdate", "values",
    "UpdateOne", "updateFirst", "findAndModify",
)  # fmt: skip
_COUNTED = lazy_regex(
    r"(\w+)\s*=\s*F\(\s*[\"']\1[\"']\s*\)\s*[-+]|\b(\w+)\s*=\s*\w+\.\2\s*[-+]"  # Django, SQLAlchemy
    r"|[\"']?(\w+)[\"']?\s*:\s*\{\s*(?:decrement|increment)\s*:"  # Prisma
    r"|\$inc[\"']?\s*:\s*\{\s*[\"']?(\w+)"  # MongoDB
    r"|\b(?:de|in)crement\(\s*(?:\{[^{}]*\}\s*,\s*)?[\"'](\w+)[\"']"  # Sequelize, TypeORM, Knex
    r"|\.Expr\(\s*[\"'`](\w+)\s*[-+]"  # GORM
    r"|SetProperty\(\s*\w+\s*=>\s*\w+\.(\w+)\s*,\s*\w+\s*=>\s*\w+\.\7\s*[-+]"  # Entity Framework
    r"|\.inc\(\s*[\"'](\w+)[\"']"  # Spring Data
)
_HELD = lazy_regex(r"pessimistic|optimistic|(?<![a-z])version", re.IGNORECASE)


def counted_rows(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield from where a number is compared to where it is changed with no condition on it, with its name."""
    seen = set[Scope]()
    for call in facts.calls_of_method(*_CHANGES):
        scope = facts.named_function_of(call)
        if scope is None or scope in seen:
            continue
        text = facts.text(call.span)
        found = _COUNTED.search(text)
        column = "" if found is None else next((one for one in found.groups() if one), "")
        if found is None or not column or _is_asked_again(column, text.replace(found[0], ""), call, facts):
            continue
        whole = facts.text(scope.span)
        start = _refused_at(column, scope, call, facts)
        if start is not None and not INSERT_GUARDS.search(whole) and not _HELD.search(whole):
            seen.add(scope)
            yield Span(start, call.span.end), column


def _is_asked_again(column: str, rest: str, call: Call, facts: Facts) -> bool:
    """Return whether the change has a condition on the number: `uses_left__gte=1`, `{left: {$gt: 0}}`."""
    chained = [facts.text(each.span) for each in facts.calls_on(call) if each.span.start == call.span.start]
    name = re.escape(column)
    asks = re.compile(
        rf"\b{name}(?:__[gl]te?\b|[\"'`]?\s*(?::|[<>]|,\s*[\"'`]\s*[<>])|\)\.[gl]te?\b|\.[gl]te?\()"
    )
    return any(asks.search(each) for each in (rest, *(one[len(rest) :] for one in chained)))


def _refused_at(column: str, scope: Scope, call: Call, facts: Facts) -> int | None:
    """Return where the function leaves because of the number that it has read from the row."""
    plain = re.escape(column.replace("_", ""))
    compared = re.compile(
        rf"\.(?:get)?{plain}(?:\(\))?\s*(?:[<>]|[!=]==?\s*0)|[<>]=?\s*\w+[?!]?\.{plain}\b", re.IGNORECASE
    )
    for step in facts.within(facts.steps, Span(scope.body.start, call.span.start)):
        is_asked = step.kind == "branch" and compared.search(step.text.replace("_", ""))
        if is_asked and refuses_caller(step, facts):
            return step.span.start
    return None
