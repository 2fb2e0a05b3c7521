"""SQL in the dialect of each database: conditions of a filter, and bulk inserts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Engine, Table, cast, func, literal, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import Text

from faultkit.audit.audit_tables import events, payloads
from faultkit.audit.filter import Filter, Param
from faultkit.audit.redaction import json_text

HOLDS = "fault_param_holds"
"""Name of a function that is added to SQLite, whose own JSON paths cannot express every key."""
LOWER = "fault_lower"
"""Name of a function that is added to SQLite, whose own `lower` handles only ASCII."""


def where_clauses(filter: Filter, dialect: str) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter, without its limit, offset and cursor."""
    column = events.c
    equal: tuple[tuple[ColumnElement[Any], object], ...] = (
        (column.tool_name, filter.tool),
        (column.user_subject, filter.user),
        (column.session_id, filter.session),
        (column.success, filter.success),
        (column.error_category, filter.category),
        (column.source, filter.source),
        (column.auth_type, filter.auth_type),
        (column.api_key_name, filter.key),
    )
    found: list[ColumnElement[bool]] = [which == value for which, value in equal if value is not None]
    if filter.from_us is not None:
        found.append(column.at_us >= filter.from_us)
    if filter.to_us is not None:
        found.append(column.at_us < filter.to_us)
    if filter.q is not None:
        texts = (column.tool_name, column.error_message, column.user_subject)
        found.append(or_(*(_contains(text, filter.q, dialect) for text in texts)))
    found += [_holds(column.parameters, param, dialect) for param in filter.params]
    payload = _payload_clauses(filter, dialect)
    if payload:
        mine = payloads.c.event_id == column.id
        found.append(
            select(literal(1)).select_from(payloads).where(mine, *payload).correlate(events).exists()
        )
    return found


def _contains(text: ColumnElement[str], q: str, dialect: str) -> ColumnElement[bool]:
    """Return whether a text contains another one, ignoring case."""
    if dialect == "sqlite" and not q.isascii():
        return func.instr(func.fault_lower(text), q.lower()) > 0
    return text.icontains(q, autoescape=True)


def _payload_clauses(filter: Filter, dialect: str) -> list[ColumnElement[bool]]:
    column = payloads.c
    # A call has either a result or an error.
    response = func.coalesce(column.response_result, column.response_error)
    found = [_holds(response, param, dialect) for param in filter.responses]
    found += [_holds(column.request_headers, param, dialect) for param in filter.headers]
    found += [func.coalesce(column[name], "") != "" for name in filter.has]
    return found


def _holds(where: ColumnElement[Any], param: Param, dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        names, value = json_text(list(param.path)), json_text(param.value)
        return func.fault_param_holds(where, names, value) == 1
    path = cast(list(param.path), ARRAY(Text))
    inside = cast(where, JSONB).op("#>", return_type=JSONB())(path)
    return inside == cast(literal(json_text(param.value), Text), JSONB)


# --- bulk inserts -------------------------------------------------------------------------------

_BLOCKS = (100, 10, 1)
"""Numbers of rows per statement: few sizes, so that each statement is prepared once."""
_MOST_VALUES = 32_766
"""Default of SQLite's SQLITE_MAX_VARIABLE_NUMBER."""

Insert: TypeAlias = Callable[[Connection, Sequence[tuple[Any, ...]]], None]
"""Inserts rows, with their values in the order of the column names."""


def bulk_insert(table: Table, names: Sequence[str], key: str, engine: Engine) -> Insert:
    """Return a function that inserts many rows; rows with an existing key are skipped.

    The SQL is written by hand because SQLAlchemy takes as long per row as the database."""
    kind = {"sqlite": _by_blocks, "postgresql": _by_columns}[engine.dialect.name]
    return kind(table, names, f"ON CONFLICT ({key}) DO NOTHING", engine)


def _by_blocks(table: Table, names: Sequence[str], or_else: str, engine: Engine) -> Insert:
    """Insert many rows per statement: after each statement sqlite3 must acquire the GIL again, which takes
    longer than the write if the server is busy."""
    place = f"({', '.join('?' for _ in names)})"
    into = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES"
    sizes = [size for size in _BLOCKS if size * len(names) <= _MOST_VALUES]
    statements = [(size, f"{into} {', '.join([place] * size)} {or_else}") for size in sizes]

    def insert(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        first = 0
        for size, statement in statements:
            while first + size <= len(rows):
                block = rows[first : first + size]
                connection.exec_driver_sql(statement, tuple(chain.from_iterable(block)))
                first += size

    return insert


def _by_columns(table: Table, names: Sequence[str], or_else: str, engine: Engine) -> Insert:
    """Insert one array per column, so a batch is one message instead of one per row. Arrays are sent in
    binary (`b`): escaping them as text takes ten times as long."""
    lists = ", ".join(f"%({name})b::{table.c[name].type.compile(engine.dialect)}[]" for name in names)
    listed = ", ".join(names)
    # `seq` is assigned in this order, which SQL does not guarantee without ORDER BY.
    statement = (
        f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM unnest({lists}) "
        f"WITH ORDINALITY AS given ({listed}, place) ORDER BY place {or_else}"
    )

    def insert(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        columns = (list(column) for column in zip(*rows, strict=True))
        connection.exec_driver_sql(statement, dict(zip(names, columns, strict=True)))

    return insert
