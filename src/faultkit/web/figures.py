"""Figures of the log: over time, by what calls have in common, and at a glance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from faultkit.audit.figures import KEYS, breakdown_of, series_of, stats_of
from faultkit.audit.filter import MOST_LIMIT, PAGING, USUAL_LIMIT, count_of, parse_filter
from faultkit.audit.row import row_document
from faultkit.audit.stats import Figures
from faultkit.base.errors import InputError
from faultkit.base.times import now_us, time_text
from faultkit.base.units import format_duration, parse_duration
from faultkit.mcp.failures.table import FAILURE_TOOLS
from faultkit.web.about import audit_document
from faultkit.web.ask import Ask, taken
from faultkit.web.reply import Reply, json_reply

LONGEST_S = 30 * 86400
LEAST_BUCKET_S = 1
MOST_POINTS = 1000
_USUAL_S = 3600
_USUAL_POINTS = 120
_BUCKETS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_RECENT = 20
_SECOND_US = 1_000_000


def _document(figures: Figures) -> dict[str, Any]:
    return {
        "count": figures.calls,
        "errors": figures.errors,
        "error_rate": round(figures.error_rate, 6),
        "avg_duration_ms": round(figures.mean_ms, 3),
        "p50_duration_ms": round(figures.p50_ms, 3),
        "p95_duration_ms": round(figures.p95_ms, 3),
        "p99_duration_ms": round(figures.p99_ms, 3),
    }


async def timeseries(ask: Ask) -> Reply:
    mine, others = taken(ask.pairs(), "bucket")
    wanted = parse_filter(others, now := now_us(), without=PAGING, beside=("bucket",))
    to_us = now if wanted.to_us is None else wanted.to_us
    from_us = to_us - _USUAL_S * _SECOND_US if wanted.from_us is None else wanted.from_us
    if to_us - from_us > LONGEST_S * _SECOND_US:
        raise InputError("from", f"expected at most {format_duration(LONGEST_S)} before `to`, got more")
    if from_us > to_us:
        raise InputError("from", "expected a time that is past, got one that is to come")
    bucket_us = _bucket_us(mine.get("bucket"), to_us - from_us)
    begin_us = from_us - from_us % bucket_us
    ranged = replace(wanted, from_us=from_us, to_us=to_us)
    found = await ask.database(series_of, ask.audit.store, bucket_us, ranged)
    points = [
        {"time": time_text(at_us), **_document(found.get(at_us, Figures()))}
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
    # One more, since the first and the last may be cut.
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


async def breakdown(ask: Ask) -> Reply:
    mine, others = taken(ask.pairs(), "by", "limit")
    wanted = parse_filter(others, now_us(), without=PAGING, beside=("by", "limit"))
    by, limit = mine.get("by", "tool"), USUAL_LIMIT
    if by not in KEYS:
        raise InputError("by", f'expected one of {", ".join(KEYS)}, got "{by[:60]}"')
    if "limit" in mine:
        try:
            limit = count_of(mine["limit"], 1, MOST_LIMIT)
        except ValueError as error:
            raise InputError("limit", str(error)) from None
    found = await ask.database(breakdown_of, ask.audit.store, by, wanted, limit)
    return json_reply(
        {
            "by": by,
            "items": [{"key": _key(each.key), **_document(each)} for each in found.items],
            "total": found.total,
            "others": found.total - sum(each.calls for each in found.items),
        }
    )


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


async def dashboard(ask: Ask) -> Reply:
    mine, others = taken(ask.pairs(), "window")
    wanted = parse_filter(others, now := now_us(), without=(*PAGING, "from", "to"), beside=("window",))
    window_s = _duration_s("window", mine["window"]) if "window" in mine else _USUAL_S
    if not LEAST_BUCKET_S <= window_s <= LONGEST_S:
        longest = format_duration(LONGEST_S)
        raise InputError("window", f'expected 1s to {longest}, got "{mine["window"][:60]}"')
    ranged = replace(wanted, from_us=now - round(window_s * _SECOND_US), to_us=now)
    recent = replace(wanted, limit=_RECENT)
    store = ask.audit.store
    stats, page = await ask.database(lambda: (stats_of(store, ranged), store.events(recent)))
    return json_reply(
        {
            "window": format_duration(window_s),
            "from": time_text(now - round(window_s * _SECOND_US)),
            "to": time_text(now),
            "stats": {
                "total": stats.all.calls,
                **_document(stats.all),
                "unique_subjects": stats.users,
                # Callers may make up as many names as they like.
                "unique_tools": sum(each.key in FAILURE_TOOLS for each in stats.tools),
                "refusals": stats.refusals,
                "calls_per_s": round(stats.all.calls / window_s, 6),
            },
            "recent": [row_document(row) for row in page.rows],
            "audit": audit_document(ask.audit),
        }
    )
