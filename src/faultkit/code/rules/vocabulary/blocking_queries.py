"""C#: queries of Entity Framework that keep a thread waiting."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts

_EF_SYNC = frozenset(
    (
        "ToList",
        "ToArray",
        "First",
        "FirstOrDefault",
        "Single",
        "SingleOrDefault",
        "Count",
        "Any",
        "Find",
        "Sum",
    )
)
_EF_ROOT = re.compile(
    r"^(this\.|self\.)?_?(db|context|dbContext|\w+Db|\w+DbContext|\w*(?<!Http)(?<!http)Context)\.[A-Z]\w*\b"
)


_LOADED = re.compile(r"Async\(\)\.|\.(ToList|ToArray|AsEnumerable|ToDictionary|ToHashSet)\(\)\.")
"""A list that is in memory already: `(await db.Orders.ToListAsync()).Select(…).ToList()`."""


def is_in_lambda_of_list(call: Call, facts: Facts) -> bool:
    """Return whether a query stands in a lambda that is called for each item of a list in memory, and async
    code waits for it: `(await db.Orders.ToListAsync()).OrderBy(o => db.Lines.Count(…))`."""
    scope = facts.function_of(call)
    if scope is None or not scope.is_anonymous or scope.is_async or scope.outer is None:
        return False
    around = facts.calls_around(call)
    return (
        scope.outer.is_async
        and bool(around)
        and any(each.value.span == scope.span for each in around[-1].arguments)
        and _LOADED.search(around[-1].receiver_written + ".") is not None
        and waits_for_ef(call, facts)
    )


def waits_for_ef(call: Call, facts: Facts) -> bool:
    """Return whether a call sends a query of Entity Framework and waits: `_db.Orders.ToList()`."""
    if call.method not in _EF_SYNC or not _EF_ROOT.match(call.receiver_written):
        return False
    if _LOADED.search(call.receiver_written):
        return False
    return facts.imports_any("Microsoft.EntityFrameworkCore") or ".Where(" in facts.text(call.span)
