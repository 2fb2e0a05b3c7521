"""Statistics of calls, computed by the database, so memory does not grow with the number of rows.

Rows of refused requests are not counted as calls: their duration is zero, which would distort percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

from faultkit.audit.audit_sql import events, where_clauses
from faultkit.audit.filter import Filter
from faultkit.audit.row import MANAGEMENT, REFUSAL, TIMES
from faultkit.audit.store import Store

PERCENTS = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class CallStatistics:
    """Counts and durations of a group of calls."""

    key: Any = ""
    """Value that the calls have in common: a tool, a user, the start of a bucket."""
    calls: int = 0
    errors: int = 0
    mean_ms: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0

    @property
    def error_rate(self) -> float:
        return self.errors / self.calls if self.calls else 0.0

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "calls": self.calls,
            "errors": self.errors,
            "error_rate": self.error_rate,
            "mean_ms": self.mean_ms,
            "p50_ms": self.p50_ms,
            "p95_ms": self.p95_ms,
            "p99_ms": self.p99_ms,
        }


@dataclass(frozen=True, slots=True)
class LogStatistics:
    """Statistics of all calls that a filter selects."""

    all: CallStatistics
    tools: tuple[CallStatistics, ...] = ()
    """Statistics per tool, by name."""
    users: int = 0
    """Number of different users."""
    refusals: int = 0
    """Number of refused requests, which are in no other number."""
    first_us: int | None = None
    last_us: int | None = None

    @property
    def calls_per_s(self) -> float:
        """Mean rate between the first and the last call; 0 if there are fewer than two times."""
        if self.first_us is None or self.last_us is None or self.first_us == self.last_us:
            return 0.0
        return (self.all.calls - 1) / ((self.last_us - self.first_us) / 1e6)


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Statistics of calls, grouped by one column."""

    items: tuple[CallStatistics, ...]
    """Groups, the most frequent first."""
    total: int
    """Number of all calls, including those of groups that are not listed."""


GROUP_KEYS: dict[str, ColumnElement[Any]] = {
    "tool": events.c.tool_name,
    "user": events.c.user_subject,
    "success": events.c.success,
    "auth_type": events.c.auth_type,
    "category": events.c.error_category,
    "source": events.c.source,
    "session": events.c.session_id,
    "key": events.c.api_key_name,
}
"""Columns that calls can be grouped by."""
_EVERYTHING: ColumnElement[Any] = literal(0)


def stats_of(store: Store, filter: Filter | None = None) -> LogStatistics:
    """Return the statistics of all calls that the filter selects."""

    def read(connection: Connection) -> LogStatistics:
        clauses = _call_clauses(connection, filter)
        whole = [replace(each, key="") for each in _read(connection, _figures(_EVERYTHING, clauses))]
        tools = _read(connection, _figures(events.c.tool_name, clauses))
        users = func.count(func.nullif(events.c.user_subject, "").distinct())
        span = select(users, func.min(events.c.at_us), func.max(events.c.at_us)).where(*clauses)
        count, first_us, last_us = connection.execute(span).one()
        ordered = sorted(tools, key=lambda each: str(each.key))
        refusals = _refusals(connection, filter)
        return LogStatistics(
            whole[0] if whole else CallStatistics(), tuple(ordered), count, refusals, first_us, last_us
        )

    return store.read(read)


def series_of(store: Store, bucket_us: int, filter: Filter | None = None) -> dict[int, CallStatistics]:
    """Return the statistics of each bucket with calls, by its start."""
    # Databases return a negative remainder for times before 1970.
    begin = events.c.at_us - (events.c.at_us % bucket_us + bucket_us) % bucket_us

    def read(connection: Connection) -> dict[int, CallStatistics]:
        found = _read(connection, _figures(begin, _call_clauses(connection, filter)))
        return {each.key: each for each in found}

    return store.read(read)


def breakdown_of(store: Store, by: str, filter: Filter | None = None, limit: int = 50) -> Breakdown:
    """Return the statistics of the most frequent groups of calls."""

    def read(connection: Connection) -> Breakdown:
        clauses = _call_clauses(connection, filter)
        wanted = _figures(GROUP_KEYS[by], clauses)
        most = wanted.order_by(func.count().desc(), wanted.selected_columns[0]).limit(limit)
        total = select(func.count()).select_from(events).where(*clauses)
        return Breakdown(tuple(_read(connection, most)), connection.execute(total).scalar_one())

    return store.read(read)


def values_of(store: Store, by: str, limit: int) -> tuple[str, ...]:
    """Return the most frequent values of a column, sorted."""
    column = GROUP_KEYS[by]
    wanted = select(column).where(column != "").group_by(column).order_by(func.count().desc()).limit(limit)
    return store.read(lambda connection: tuple(sorted(connection.execute(wanted).scalars())))


def _call_clauses(connection: Connection, filter: Filter | None) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter, without rows that are not calls."""
    is_call = events.c.source.not_in((REFUSAL, MANAGEMENT))
    return [*where_clauses(filter or Filter(), connection.dialect.name), is_call]


def _refusals(connection: Connection, filter: Filter | None) -> int:
    clauses = where_clauses(filter or Filter(), connection.dialect.name)
    if connection.dialect.name == "sqlite":
        times: ColumnElement[Any] = func.json_extract(events.c.parameters, f"$.{TIMES}")
    else:
        times = cast(cast(events.c.parameters, JSONB)[TIMES].astext, Integer)
    wanted = select(func.coalesce(func.sum(times), 0)).where(*clauses, events.c.source == REFUSAL)
    return int(connection.execute(wanted).scalar_one())


def _figures(key: ColumnElement[Any], clauses: list[ColumnElement[bool]]) -> Select[Any]:
    ranked = (
        select(
            key.label("key"),
            events.c.success,
            events.c.duration_ms,
            func.row_number().over(partition_by=key, order_by=events.c.duration_ms).label("place"),
            func.count().over(partition_by=key).label("calls"),
        )
        .where(*clauses)
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


def _read(connection: Connection, wanted: Select[Any]) -> list[CallStatistics]:
    found = []
    for key, calls, errors, mean_ms, *neighbours in connection.execute(wanted):
        pairs = zip(PERCENTS, neighbours[::2], neighbours[1::2], strict=True)
        times_ms = (_between(calls, *pair) for pair in pairs)
        found.append(CallStatistics(key, calls, int(errors), mean_ms, *times_ms))
    return found


def _between(calls: int, percent: int, low_ms: float, high_ms: float) -> float:
    """Return the percentile by the definition of `base.percentiles`, from its two neighbours."""
    share = (calls + 1) * percent % 100 / 100
    return low_ms if low_ms == high_ms else min(low_ms + share * (high_ms - low_ms), high_ms)
