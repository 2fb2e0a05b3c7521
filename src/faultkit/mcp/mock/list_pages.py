"""Pages of lists, and the cursors between them. Pure.

A cursor is opaque to clients (MCP 2025-11-25, Pagination). It holds the name of its list, so that a cursor of
one list is refused by another, and where the next page begins.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.base.documents.checks import shown


def page_of(name: str, entries: Sequence[Any], params: Mapping[str, Any], size: int | None) -> dict[str, Any]:
    """Return the result of a list request: the page at its cursor, and the cursor of the next page.

    Without a size there is one page. Raises ValueError for a cursor that no page of this list has given."""
    cursor = params.get("cursor")
    start = 0 if cursor is None else _start_of(name, cursor)
    if cursor is not None and (
        size is None or start % size or not 0 < start < len(entries) or cursor != _cursor(name, start)
    ):
        raise ValueError(f"expected a cursor that a page of {name} gave, got {shown(cursor)}")
    end = len(entries) if size is None else start + size
    page: dict[str, Any] = {name: list(entries[start:end])}
    if end < len(entries):
        page["nextCursor"] = _cursor(name, end)
    return page


def _cursor(name: str, start: int) -> str:
    return urlsafe_b64encode(f"{name}:{start}".encode()).decode()


def _start_of(name: str, cursor: object) -> int:
    """Return where the page of a cursor begins; 0, where none does, for one that cannot be read."""
    try:
        start = urlsafe_b64decode(str(cursor)).decode().removeprefix(f"{name}:")
    except ValueError:
        return 0
    return int(start) if start.isdecimal() and len(start) < 10 else 0
