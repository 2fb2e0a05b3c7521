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


def waits_for_ef(call: Call, facts: Facts) -> bool:
    """Return whether a call sends a query of Entity Framework and waits: `_db.Orders.ToList()`."""
    if call.method not in _EF_SYNC or not _EF_ROOT.match(call.receiver_written):
        return False
    return facts.imports_any("Microsoft.EntityFrameworkCore") or ".Where(" in facts.text(call.span)
