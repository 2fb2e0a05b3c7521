"""Figures of calls, worked out by the database: memory does not grow with the number of rows.

Requests that were refused have rows, but are no calls: they took no time, and would make others look fast.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB

from faultkit.audit.conditions import conditions_of
from faultkit.audit.filter import Filter
from faultkit.audit.row import REFUSAL, TIMES
from faultkit.audit.schema import events
from faultkit.audit.stats import PERCENTS, Breakdown, Figures, Stats
from faultkit.audit.store import Store

KEYS: dict[str, ColumnElement[Any]] = {
    "tool": events.c.tool_name,
    "user": events.c.user_subject,
    "success": events.c.success,
    "auth_type": events.c.auth_type,
    "category": events.c.error_category,
    "source": events.c.source,
    "session": events.c.session_id,
    "key": events.c.api_key_name,
}
"""What calls can be told apart by."""
_EVERYTHING: ColumnElement[Any] = literal(0)


def stats_of(store: Store, filter: Filter | None = None) -> Stats:
    def read(connection: Connection) -> Stats:
        held = _held(connection, filter)
        whole = [replace(each, key="") for each in _read(connection, _figures(_EVERYTHING, held))]
        tools = _read(connection, _figures(events.c.tool_name, held))
        users = func.count(func.nullif(events.c.user_subject, "").distinct())
        span = select(users, func.min(events.c.at_us), func.max(events.c.at_us)).where(*held)
        count, first_us, last_us = connection.execute(span).one()
        ordered = sorted(tools, key=lambda each: str(each.key))
        refusals = _refusals(connection, filter)
        return Stats(whole[0] if whole else Figures(), tuple(ordered), count, refusals, first_us, last_us)

    return store.read(read)


def series_of(store: Store, bucket_us: int, filter: Filter | None = None) -> dict[int, Figures]:
    """By the moment at which a bucket begins; only those in which there were calls."""
    # Before 1970, what is left over is negative to a database.
    begin = events.c.at_us - (events.c.at_us % bucket_us + bucket_us) % bucket_us

    def read(connection: Connection) -> dict[int, Figures]:
        found = _read(connection, _figures(begin, _held(connection, filter)))
        return {each.key: each for each in found}

    return store.read(read)


def breakdown_of(store: Store, by: str, filter: Filter | None = None, limit: int = 50) -> Breakdown:
    def read(connection: Connection) -> Breakdown:
        held = _held(connection, filter)
        wanted = _figures(KEYS[by], held)
        most = wanted.order_by(func.count().desc(), wanted.selected_columns[0]).limit(limit)
        total = select(func.count()).select_from(events).where(*held)
        return Breakdown(tuple(_read(connection, most)), connection.execute(total).scalar_one())

    return store.read(read)


def values_of(store: Store, by: str, limit: int) -> tuple[str, ...]:
    """Those that are in the log, by name; of very many, the most frequent."""
    column = KEYS[by]
    wanted = select(column).where(column != "").group_by(column).order_by(func.count().desc()).limit(limit)
    return store.read(lambda connection: tuple(sorted(connection.execute(wanted).scalars())))


def _held(connection: Connection, filter: Filter | None) -> list[ColumnElement[bool]]:
    """Of calls alone."""
    return [*conditions_of(filter or Filter(), connection.dialect.name), events.c.source != REFUSAL]


def _refusals(connection: Connection, filter: Filter | None) -> int:
    held = conditions_of(filter or Filter(), connection.dialect.name)
    if connection.dialect.name == "sqlite":
        times: ColumnElement[Any] = func.json_extract(events.c.parameters, f"$.{TIMES}")
    else:
        times = cast(cast(events.c.parameters, JSONB)[TIMES].astext, Integer)
    wanted = select(func.coalesce(func.sum(times), 0)).where(*held, events.c.source == REFUSAL)
    return int(connection.execute(wanted).scalar_one())


def _figures(key: ColumnElement[Any], held: list[ColumnElement[bool]]) -> Select[Any]:
    ranked = (
        select(
            key.label("key"),
            events.c.success,
            events.c.duration_ms,
            func.row_number().over(partition_by=key, order_by=events.c.duration_ms).label("place"),
            func.count().over(partition_by=key).label("calls"),
        )
        .where(*held)
        .subquery()
    )
    column = ranked.c
    neighbours: list[ColumnElement[Any]] = []
    for percent in PERCENTS:
        below = (column.calls + 1) * percent // 100
        low = or_(column.place == below, and_(below < 1, column.place == 1))
        high = or_(column.place == below + 1, and_(below >= column.calls, column.place == column.calls))
        neighbours += [func.max(case((here, column.duration_ms))) for here in (low, high)]
    errors = func.sum(case((column.success, 0), else_=1))
    return select(column.key, func.count(), errors, func.avg(column.duration_ms), *neighbours).group_by(
        column.key
    )


def _read(connection: Connection, wanted: Select[Any]) -> list[Figures]:
    found = []
    for key, calls, errors, mean_ms, *neighbours in connection.execute(wanted):
        pairs = zip(PERCENTS, neighbours[::2], neighbours[1::2], strict=True)
        times_ms = (_between(calls, *pair) for pair in pairs)
        found.append(Figures(key, calls, int(errors), mean_ms, *times_ms))
    return found


def _between(calls: int, percent: int, low_ms: float, high_ms: float) -> float:
    """The percentile, as `load.percentile` defines it, by the two values that it lies between."""
    share = (calls + 1) * percent % 100 / 100
    return low_ms if low_ms == high_ms else min(low_ms + share * (high_ms - low_ms), high_ms)
