"""Calls that send SQL, and the verb of it; calls that open and end transactions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Call, Facts

_METHODS = frozenset(
    (
        "execute", "executemany", "executescript", "query", "Query", "QueryRow", "QueryContext",
        "QueryRowContext", "Exec", "ExecContext", "executeQuery", "executeUpdate", "queryForObject",
        "update", "fetch", "fetchrow", "fetchval", "scalar", "scalars", "run", "all", "get", "exec",
        "raw", "MustExec",
    )
)  # fmt: skip
_THINGS = (
    r"(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|materialized\s+)?(?:table|index|view|schema|database|type"
    r"|role|user|function|trigger|sequence|extension|column|procedure|policy)\b"
)
_SQL = re.compile(
    r"^\s*(?:--[^\n]*\n\s*)*(?:"
    r"(?P<loud>SELECT|INSERT|UPDATE|DELETE|REPLACE|MERGE|UPSERT|WITH)\s"
    r"|(?i:(?P<read>select)\s(?=.*(?:\bfrom\b|[(*\d])))"
    r"|(?i:(?P<into>insert|replace|merge|upsert)\s+(?:or\s+\w+\s+|ignore\s+)?into\b)"
    r"|(?i:(?P<set>update)\s(?=.*\bset\b))"
    r"|(?i:(?P<from>delete)\s+from\b)"
    r"|(?i:(?P<as>with)\s(?=.*\bas\b.*\b(?:select|insert|update|delete)\b))"
    rf"|(?i:(?P<shape>create|alter|drop|truncate)\s+{_THINGS})"
    r"|(?i:(?P<end>begin|commit|rollback)\s*(?:;|$|transaction\b|work\b|to\b|immediate\b|exclusive\b))"
    r")",
    re.DOTALL,
)
"""A verb and what must follow it: `Replace` alone is a word. In capitals, the verb is enough."""
_WRITES = frozenset({"insert", "update", "delete", "replace", "merge", "upsert"})


@dataclass(frozen=True, slots=True)
class SqlCall:
    call: Call
    verb: str
    """In lower case: `select`, `insert`."""
    sql: str
    """The text of the statement as far as it is literal."""

    @property
    def is_write(self) -> bool:
        return self.verb in _WRITES


@lru_cache(maxsize=4)
def sql_calls(facts: Facts) -> tuple[SqlCall, ...]:
    """Calls that are given SQL as text, also in a template or wrapped as in `text("…")`."""
    starts = sorted((text for text in facts.texts if _verb(text.text)), key=lambda each: each.span)
    found = []
    for call in facts.calls:
        if call.method not in _METHODS:
            continue
        inside = [
            text for text in starts if call.callee.end <= text.span.start and text.span.end <= call.span.end
        ]
        sql = inside[0].text if inside else _named_sql(call, facts)
        if verb := _verb(sql):
            found.append(SqlCall(call, verb, sql))
    return tuple(found)


def _verb(text: str) -> str:
    found = _SQL.match(text)
    return next(each for each in found.groups() if each).lower() if found is not None else ""


def _named_sql(call: Call, facts: Facts) -> str:
    for argument in call.positional[:2]:
        if argument.value.shape == "name":
            for each in facts.assignments:
                if (
                    argument.value.text in each.targets
                    and each.value is not None
                    and each.value.shape == "text"
                ):
                    return each.value.literal
    return ""
