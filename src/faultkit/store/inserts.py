"""Many rows in one statement, in the words of each database. Rows that are there already stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection, Engine, Table

Insert: TypeAlias = Callable[[Connection, Sequence[tuple[Any, ...]]], None]
"""Of rows with their values in the order of the names that it was made for."""


def insert_into(table: Table, names: Sequence[str], key: str, engine: Engine) -> Insert:
    """In words of our own: for each row of a batch, SQLAlchemy would take as long as the database does."""
    kind = {"sqlite": _one_by_one, "postgresql": _by_columns}[engine.dialect.name]
    return kind(table, names, f"ON CONFLICT ({key}) DO NOTHING", engine)


def _one_by_one(table: Table, names: Sequence[str], or_else: str, engine: Engine) -> Insert:
    places = ", ".join("?" for _ in names)
    statement = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places}) {or_else}"

    def insert(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        connection.exec_driver_sql(statement, list(rows))

    return insert


def _by_columns(table: Table, names: Sequence[str], or_else: str, engine: Engine) -> Insert:
    """One list a column, which costs one message for a batch instead of one a row."""
    lists = ", ".join(f"%({name})s::{table.c[name].type.compile(engine.dialect)}[]" for name in names)
    listed = ", ".join(names)
    # Their order gives them their places, and has to be said.
    statement = (
        f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM unnest({lists}) "
        f"WITH ORDINALITY AS given ({listed}, place) ORDER BY place {or_else}"
    )

    def insert(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        columns = (list(column) for column in zip(*rows, strict=True))
        connection.exec_driver_sql(statement, dict(zip(names, columns, strict=True)))

    return insert
