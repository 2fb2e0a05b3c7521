"""Rows of the log: a page of them, one with what was said, all of them, and those that come."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from faultkit.audit.figures import KEYS, values_of
from faultkit.audit.filter import FILTERS, HAS, MOST_LIMIT, PAGING, PATHS, count_of, cursor_of, parse_filter
from faultkit.audit.row import AuditRow, payload_document, row_document
from faultkit.audit.table import COLUMNS, cells_of
from faultkit.base.errors import InputError, RunError
from faultkit.base.times import now_us
from faultkit.web.ask import Ask, nothing_else, taken
from faultkit.web.figures import LEAST_BUCKET_S, LONGEST_S, MOST_POINTS
from faultkit.web.reply import SAFETY, Refused, Reply, json_reply

_LARGEST = 2**63 - 1
_MOST_VALUES = 200
_PAGE = 500


async def meta(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    store = ask.audit.store
    listed = {"tools": "tool", "users": "user", "categories": "category", "sources": "source", "keys": "key"}
    found = await ask.database(
        lambda: {name: values_of(store, by, _MOST_VALUES) for name, by in listed.items()}
    )
    return json_reply(
        {
            "filters": FILTERS,
            "paths": PATHS,
            "has": HAS,
            "breakdown_by": list(KEYS),
            "formats": list(_FORMATS),
            "max_limit": MOST_LIMIT,
            "max_window_s": LONGEST_S,
            "min_bucket_s": LEAST_BUCKET_S,
            "max_points": MOST_POINTS,
            **found,
        }
    )


async def events(ask: Ask) -> Reply:
    wanted = parse_filter(ask.pairs(), now_us())
    # One more than is wanted tells whether there are more.
    page = await ask.database(ask.audit.store.events, replace(wanted, limit=wanted.limit + 1))
    rows = page.rows[: wanted.limit]
    last = rows[-1] if len(page.rows) > len(rows) else None
    return json_reply(
        {
            "events": [row_document(row) for row in rows],
            "total": page.total,
            "limit": wanted.limit,
            "offset": wanted.offset,
            "next": None if last is None else cursor_of(last.at_us, last.seq),
        }
    )


async def event(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    id = ask.names["id"]
    entry = await ask.database(ask.audit.store.get, id)
    if entry is None:
        raise Refused(404, f'expected the id of a call, got "{id[:60]}"')
    document = row_document(entry.row)
    if entry.payload is not None:
        document["payload"] = payload_document(entry.payload)
    return json_reply(document)


async def stream(ask: Ask) -> int:
    mine, others = taken(ask.pairs(), "after")
    wanted = parse_filter(others, now_us(), without=(*PAGING, "from", "to"), beside=("after",))
    # A browser that comes back says where it was, though its address still names the place where it began.
    came_back = ask.request.headers.get("last-event-id")
    name, text = ("after", mine.get("after")) if came_back is None else ("Last-Event-ID", came_back)
    after = None if text is None else _count(name, text, 0)
    assert ask.audit is not None
    assert ask.parts.live is not None
    await ask.parts.live.follow(ask.answer, wanted, after)
    return 200


async def export(ask: Ask) -> int:
    """A page at a time, and no faster than it is read: it takes no more memory than that."""
    mine, others = taken(ask.pairs(), "format", "limit")
    form = mine.get("format", "jsonl")
    if form not in _FORMATS:
        raise InputError("format", f'expected one of {", ".join(_FORMATS)}, got "{form[:60]}"')
    left = _count("limit", mine["limit"], 1) if "limit" in mine else _LARGEST
    wanted = parse_filter(others, now_us(), without=PAGING, beside=("format", "limit"))
    type, head, lines = _FORMATS[form]
    store, answer = ask.audit.store, ask.answer
    # What comes while it runs is not in it, or it might never end.
    end = await ask.database(store.last_seq)
    page = await ask.database(store.after, 0, wanted, min(_PAGE, left))
    name = f'attachment; filename="faultkit-audit.{form}"'
    answer.begin(200, [("content-type", type), ("content-disposition", name), *SAFETY], head)
    while answer.is_open:
        rows = [row for row in page[:left] if row.seq <= end]
        answer.write(lines(rows))
        left -= len(rows)
        if not rows or len(rows) < len(page) or not left:
            answer.end()
            break
        await answer.drained()
        try:
            page = await ask.database(store.after, rows[-1].seq, wanted, min(_PAGE, left))
        except (RunError, Refused):
            # It has begun well: all that can be said now is that this is not the end.
            answer.abort()
            break
        # Rendering a page takes milliseconds: calls go first.
        await asyncio.sleep(0)
    return 200


def _count(name: str, text: str, least: int) -> int:
    try:
        return count_of(text, least, _LARGEST)
    except ValueError as error:
        raise InputError(name, str(error)) from None


def _json_lines(rows: Sequence[AuditRow]) -> bytes:
    lines = (json.dumps(row_document(row), ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    return "".join(lines).encode("utf-8", "replace")


def _csv_lines(rows: Sequence[AuditRow]) -> bytes:
    return _csv(cells_of(row) for row in rows)


def _csv(lines: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8", "replace")


_Form = tuple[str, bytes, Callable[[Sequence[AuditRow]], bytes]]
_FORMATS: dict[str, _Form] = {
    "jsonl": ("application/x-ndjson; charset=utf-8", b"", _json_lines),
    "csv": ("text/csv; charset=utf-8", _csv([COLUMNS]), _csv_lines),
}
"""The type of each, what it begins with, and how rows are written in it."""
