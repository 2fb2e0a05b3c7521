"""Handlers for the audit log: rows (page, one, export, live stream) and statistics (series, breakdown)."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from faultkit.audit.call_statistics import (
    GROUP_KEYS,
    CallStatistics,
    breakdown_of,
    series_of,
    stats_of,
    values_of,
)
from faultkit.audit.filter import (
    FILTERS,
    HAS,
    MOST_LIMIT,
    PAGING,
    PATHS,
    USUAL_LIMIT,
    count_of,
    cursor_of,
    parse_filter,
)
from faultkit.audit.row import CSV_COLUMNS, AuditRow, csv_cells, payload_document, row_document
from faultkit.base.errors import InputError, RunError
from faultkit.base.times import now_us, time_text
from faultkit.base.units import format_duration, parse_duration
from faultkit.mcp.failures.tool_catalogue import FAILURE_TOOLS
from faultkit.web.request_context import RequestContext, reject_parameters, split_parameters
from faultkit.web.routing import SAFETY, HttpError, SiteReply, json_reply
from faultkit.web.server_api import audit_document

_LARGEST = 2**63 - 1
_MOST_VALUES = 200
_PAGE = 500


async def meta(context: RequestContext) -> SiteReply:
    """Answer with the filters, the limits, and the values that occur in the log."""
    reject_parameters(context.query())
    store = context.audit.store
    listed = {"tools": "tool", "users": "user", "categories": "category", "sources": "source", "keys": "key"}
    found = await context.in_thread(
        lambda: {name: values_of(store, by, _MOST_VALUES) for name, by in listed.items()}
    )
    return json_reply(
        {
            "filters": FILTERS,
            "paths": PATHS,
            "has": HAS,
            "breakdown_by": list(GROUP_KEYS),
            "formats": list(_FORMATS),
            "max_limit": MOST_LIMIT,
            "max_window_s": LONGEST_S,
            "min_bucket_s": LEAST_BUCKET_S,
            "max_points": MOST_POINTS,
            **found,
        }
    )


async def events(context: RequestContext) -> SiteReply:
    """Answer with a page of rows, newest first."""
    wanted = parse_filter(context.query(), now_us())
    # One row more than requested shows whether there is a next page.
    page = await context.in_thread(context.audit.store.events, replace(wanted, limit=wanted.limit + 1))
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


async def event(context: RequestContext) -> SiteReply:
    """Answer with one row and its payload."""
    reject_parameters(context.query())
    id = context.path_names["id"]
    entry = await context.in_thread(context.audit.store.get, id)
    if entry is None:
        raise HttpError(404, f'expected the id of a call, got "{id[:60]}"')
    document = row_document(entry.row)
    if entry.payload is not None:
        document["payload"] = payload_document(entry.payload)
    return json_reply(document)


async def stream(context: RequestContext) -> int:
    """Send new rows as server-sent events until the client disconnects."""
    own, others = split_parameters(context.query(), "after")
    wanted = parse_filter(others, now_us(), without=(*PAGING, "from", "to"), beside=("after",))
    # On reconnection a browser sends Last-Event-ID, which is newer than `after` in its URL.
    last_event_id = context.request.headers.get("last-event-id")
    name, text = ("after", own.get("after")) if last_event_id is None else ("Last-Event-ID", last_event_id)
    after = None if text is None else _count(name, text, 0)
    assert context.audit is not None
    assert context.services.live is not None
    await context.services.live.follow(context.answer, wanted, after)
    return 200


async def export(context: RequestContext) -> int:
    """Send all matching rows, one page at a time and no faster than the client reads."""
    own, others = split_parameters(context.query(), "format", "limit")
    form = own.get("format", "jsonl")
    if form not in _FORMATS:
        raise InputError("format", f'expected one of {", ".join(_FORMATS)}, got "{form[:60]}"')
    left = _count("limit", own["limit"], 1) if "limit" in own else _LARGEST
    wanted = parse_filter(others, now_us(), without=PAGING, beside=("format", "limit"))
    type, head, lines = _FORMATS[form]
    store, answer = context.audit.store, context.answer
    # Rows that are added during the export are left out: it might never end.
    end = await context.in_thread(store.last_seq)
    page = await context.in_thread(store.after, 0, wanted, min(_PAGE, left))
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
            page = await context.in_thread(store.after, rows[-1].seq, wanted, min(_PAGE, left))
        except (RunError, HttpError):
            # The status is sent already; only an aborted response can show that rows are missing.
            answer.abort()
            break
        # Rendering a page takes milliseconds: let calls run in between.
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
    return _csv(csv_cells(row) for row in rows)


def _csv(lines: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8", "replace")


_Form = tuple[str, bytes, Callable[[Sequence[AuditRow]], bytes]]
_FORMATS: dict[str, _Form] = {
    "jsonl": ("application/x-ndjson; charset=utf-8", b"", _json_lines),
    "csv": ("text/csv; charset=utf-8", _csv([CSV_COLUMNS]), _csv_lines),
}
"""Content type, first bytes and row writer of each format."""


# --- statistics ---------------------------------------------------------------------------------


LONGEST_S = 30 * 86400
LEAST_BUCKET_S = 1
MOST_POINTS = 1000
_USUAL_S = 3600
_USUAL_POINTS = 120
_BUCKETS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_RECENT = 20
_SECOND_US = 1_000_000


def _statistics_document(figures: CallStatistics) -> dict[str, Any]:
    return {
        "count": figures.calls,
        "errors": figures.errors,
        "error_rate": round(figures.error_rate, 6),
        "avg_duration_ms": round(figures.mean_ms, 3),
        "p50_duration_ms": round(figures.p50_ms, 3),
        "p95_duration_ms": round(figures.p95_ms, 3),
        "p99_duration_ms": round(figures.p99_ms, 3),
    }


async def timeseries(context: RequestContext) -> SiteReply:
    """Answer with the statistics of each bucket of a time range."""
    own, others = split_parameters(context.query(), "bucket")
    wanted = parse_filter(others, now := now_us(), without=PAGING, beside=("bucket",))
    to_us = now if wanted.to_us is None else wanted.to_us
    from_us = to_us - _USUAL_S * _SECOND_US if wanted.from_us is None else wanted.from_us
    if to_us - from_us > LONGEST_S * _SECOND_US:
        raise InputError("from", f"expected at most {format_duration(LONGEST_S)} before `to`, got more")
    if from_us > to_us:
        raise InputError("from", "expected a time in the past, got one in the future")
    bucket_us = _bucket_us(own.get("bucket"), to_us - from_us)
    begin_us = from_us - from_us % bucket_us
    ranged = replace(wanted, from_us=from_us, to_us=to_us)
    found = await context.in_thread(series_of, context.audit.store, bucket_us, ranged)
    points = [
        {"time": time_text(at_us), **_statistics_document(found.get(at_us, CallStatistics()))}
        for at_us in range(begin_us, max(to_us, begin_us + 1), bucket_us)
    ]
    return json_reply(
        {
            "points": points,
            "bucket": format_duration(bucket_us / _SECOND_US),
            "bucket_s": bucket_us / _SECOND_US,
            "from": time_text(from_us),
            "to": time_text(to_us),
        }
    )


def _bucket_us(text: str | None, span_us: int) -> int:
    if text is None:
        fitting = (each for each in _BUCKETS_S if span_us <= each * _SECOND_US * _USUAL_POINTS)
        return next(fitting, _BUCKETS_S[-1]) * _SECOND_US
    bucket_us = round(_duration_s("bucket", text) * _SECOND_US)
    # One more bucket, since the first and the last may be partial.
    least_us = max(LEAST_BUCKET_S * _SECOND_US, -(-span_us // (MOST_POINTS - 1)))
    if not least_us <= bucket_us <= LONGEST_S * _SECOND_US:
        least = format_duration(-(-least_us // _SECOND_US))
        raise InputError(
            "bucket",
            f"expected {least} to {format_duration(LONGEST_S)}, so that there are at most {MOST_POINTS} "
            f'points, got "{text[:60]}"',
        )
    return bucket_us


def _duration_s(name: str, text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(name, str(error)) from None


async def breakdown(context: RequestContext) -> SiteReply:
    """Answer with the statistics of calls, grouped by one column."""
    own, others = split_parameters(context.query(), "by", "limit")
    wanted = parse_filter(others, now_us(), without=PAGING, beside=("by", "limit"))
    by, limit = own.get("by", "tool"), USUAL_LIMIT
    if by not in GROUP_KEYS:
        raise InputError("by", f'expected one of {", ".join(GROUP_KEYS)}, got "{by[:60]}"')
    if "limit" in own:
        try:
            limit = count_of(own["limit"], 1, MOST_LIMIT)
        except ValueError as error:
            raise InputError("limit", str(error)) from None
    found = await context.in_thread(breakdown_of, context.audit.store, by, wanted, limit)
    return json_reply(
        {
            "by": by,
            "items": [{"key": _key(each.key), **_statistics_document(each)} for each in found.items],
            "total": found.total,
            "others": found.total - sum(each.calls for each in found.items),
        }
    )


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


async def dashboard(context: RequestContext) -> SiteReply:
    """Answer with the statistics and the newest calls of a time window."""
    own, others = split_parameters(context.query(), "window")
    wanted = parse_filter(others, now := now_us(), without=(*PAGING, "from", "to"), beside=("window",))
    window_s = _duration_s("window", own["window"]) if "window" in own else _USUAL_S
    if not LEAST_BUCKET_S <= window_s <= LONGEST_S:
        longest = format_duration(LONGEST_S)
        raise InputError("window", f'expected 1s to {longest}, got "{own["window"][:60]}"')
    ranged = replace(wanted, from_us=now - round(window_s * _SECOND_US), to_us=now)
    recent = replace(wanted, limit=_RECENT)
    store = context.audit.store
    stats, page = await context.in_thread(lambda: (stats_of(store, ranged), store.events(recent)))
    return json_reply(
        {
            "window": format_duration(window_s),
            "from": time_text(now - round(window_s * _SECOND_US)),
            "to": time_text(now),
            "stats": {
                "total": stats.all.calls,
                **_statistics_document(stats.all),
                "unique_subjects": stats.users,
                # Only existing tools: callers can use any name.
                "unique_tools": sum(each.key in FAILURE_TOOLS for each in stats.tools),
                "refusals": stats.refusals,
                "calls_per_s": round(stats.all.calls / window_s, 6),
            },
            "recent": [row_document(row) for row in page.rows],
            "audit": audit_document(context.audit),
        }
    )
