"""The SQL of the audit log: tables, conditions of a filter, and bulk inserts, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    cast,
    false,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from faultkit.audit.filter import Filter, Param
from faultkit.audit.redaction import json_text

VERSION = 2
"""Version of the tables: older stores are upgraded, newer ones are refused."""

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


versions = Table("audit_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

events = Table(
    "audit_events",
    metadata,
    # Never reused, even after the newest rows were removed: readers of the live stream rely on it.
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), Identity(), primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("at_us", BigInteger, nullable=False),
    Column("duration_ms", Float(53), nullable=False),
    _text("tool_name"),
    Column("success", Boolean, nullable=False),
    _text("tool_group"),
    _text("request_id"),
    _text("session_id"),
    _text("user_subject"),
    _text("user_email"),
    _text("auth_type"),
    _text("api_key_name"),
    # Text instead of JSON, so that the order of keys is preserved.
    Column("parameters", Text),
    _text("error_message"),
    _text("error_category"),
    Column("request_chars", BigInteger, nullable=False),
    Column("response_chars", BigInteger, nullable=False),
    Column("content_blocks", Integer, nullable=False),
    _text("transport"),
    _text("source"),
    _text("remote_addr"),
    _text("forwarded_for"),
    _text("user_agent"),
    _text("era"),
    sqlite_autoincrement=True,
)
Index("audit_events_by_time", events.c.at_us, events.c.seq)

payloads = Table(
    "audit_payloads",
    metadata,
    Column("event_id", Text, ForeignKey("audit_events.id", ondelete="CASCADE"), primary_key=True),
    _text("jsonrpc_method"),
    Column("request_params", Text),
    Column("request_size_bytes", BigInteger, nullable=False),
    Column("request_truncated", Boolean, nullable=False),
    Column("request_headers", Text),
    Column("response_result", Text),
    Column("response_error", Text),
    Column("response_size_bytes", BigInteger, nullable=False),
    Column("response_truncated", Boolean, nullable=False),
    Column("notifications", Text),
    # With a default, since a server of the first version may still write without it.
    Column("notifications_truncated", Boolean, nullable=False, server_default=false()),
    _text("replayed_from"),
)

keys = Table(
    "api_keys",
    metadata,
    # The key itself is not stored.
    Column("digest", Text, primary_key=True),
    _text("name"),
    _text("hint"),
    _text("scopes"),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger),
    Column("revoked_us", BigInteger),
    Column("used_us", BigInteger),
)
Index(
    "api_keys_in_use",
    keys.c.name,
    unique=True,
    sqlite_where=keys.c.revoked_us.is_(None),
    postgresql_where=keys.c.revoked_us.is_(None),
)

results = Table(
    "chaos_results",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), Identity(), primary_key=True),
    _text("name"),
    _text("outcome"),
    Column("success", Boolean, nullable=False),
    _text("result"),
    Column("journal", Text),
    sqlite_autoincrement=True,
)
Index("chaos_results_by_name", results.c.name, results.c.seq)

totals = Table(
    "chaos_totals",
    metadata,
    # Separate from the results, of which the oldest are removed.
    Column("name", Text, primary_key=True),
    Column("runs", BigInteger, nullable=False),
    Column("successes", BigInteger, nullable=False),
)

UPGRADES: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE audit_payloads ADD COLUMN notifications TEXT",
        "ALTER TABLE audit_payloads ADD COLUMN notifications_truncated BOOLEAN DEFAULT false NOT NULL",
    ),
}
"""Statements that upgrade each version of the tables to the next, in SQL of every database. Existing rows are
not changed."""


# --- filters --------------------------------------------------------------------------------------

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
