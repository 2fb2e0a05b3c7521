"""C#: queries of Entity Framework that keep a thread waiting."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
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
_EF_ROOT = lazy_regex(
    r"^(this\.|self\.)?_?(db|context|dbContext|\w+Db|\w+DbContext|\w*(?<!Http)(?<!http)Context)\.[A-Z]\w*\b"
)


_LOADED = lazy_regex(r"Async\(\)\.|\.(ToList|ToArray|AsEnumerable|ToDictionary|ToHashSet)\(\)\.")
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
    if call.method not in _EF_SYNC or not (root := _EF_ROOT.match(call.receiver_written)):
        return False
    if _NO_QUERY.search(call.receiver_written) or (
        _SOME_CONTEXT.fullmatch(root[2]) and not _is_of_ef(call, root[2], facts)
    ):
        return False
    if _LOADED.search(call.receiver_written + "."):
        return False
    return facts.imports_any("Microsoft.EntityFrameworkCore") or ".Where(" in facts.text(call.span)


_NO_QUERY = lazy_regex(r"\.(ChangeTracker|Local|Model)\b")
"""Parts of a DbContext that are in memory."""
_SOME_CONTEXT = lazy_regex(r"(?!\w*(?:[dD]b|DB|Data)Context$)(?:\w*C|c)ontext")
"""A name that a context of a request, a message or a filter has as often."""
_TYPED = r"\b(\w+)(?:<[^;(){{}}]*>)?\??\s+{}\s*[,;)={{]"


def _is_of_ef(call: Call, name: str, facts: Facts) -> bool:
    """Return whether a context is one of Entity Framework, by its type in this text and by the imports."""
    if not facts.imports_any("Microsoft.EntityFrameworkCore"):
        types = re.findall(_TYPED.format(rf"_?{re.escape(name)}"), facts.whole_text)
        return any(each.endswith(("DbContext", "DataContext")) for each in types)
    scope = facts.named_function_of(call)
    given = [] if scope is None else [each.type for each in scope.parameters if each.name == name]
    return not given or any(each.partition("<")[0].endswith(("DbContext", "DataContext")) for each in given)
