"""Rows as lines of a table, for CSV. Pure."""

from __future__ import annotations

from typing import Any

from faultkit.audit.row import ROW_FIELDS, AuditRow
from faultkit.base.times import time_text

_FIELDS = tuple(name for name in ROW_FIELDS if name not in ("seq", "at_us"))
COLUMNS = ("seq", "timestamp", *_FIELDS)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for one, though a caller wrote it."""


def cells_of(row: AuditRow) -> list[Any]:
    """In the order of the columns. A text that begins like a formula has an apostrophe before it."""
    return [row.seq, time_text(row.at_us), *(_cell(getattr(row, name)) for name in _FIELDS)]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
