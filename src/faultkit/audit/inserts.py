"""Many rows in one statement, in the words of each database. Rows that are there already stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import Connection, Engine, Table

_BLOCKS = (100, 10, 1)
"""Rows of one statement: few sizes, so that each is prepared once."""
_MOST_VALUES = 32_766
"""That a statement of SQLite may have, if nobody has changed it."""

Insert: TypeAlias = Callable[[Connection, Sequence[tuple[Any, ...]]], None]
"""Of rows with their values in the order of the names that it was made for."""


def insert_into(table: Table, names: Sequence[str], key: str, engine: Engine) -> Insert:
    """In words of our own: for each row of a batch, SQLAlchemy would take as long as the database does."""
    kind = {"sqlite": _by_blocks, "postgresql": _by_columns}[engine.dialect.name]
    return kind(table, names, f"ON CONFLICT ({key}) DO NOTHING", engine)


def _by_blocks(table: Table, names: Sequence[str], or_else: str, engine: Engine) -> Insert:
    """Many rows a statement: after each of them, Python's SQLite waits for its turn among the threads again,
    which beside a busy server takes longer than the writing."""
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
    """One list a column, which costs one message for a batch instead of one a row. In binary (`b`): as text,
    each value would be searched for what has to be escaped, which takes ten times as long."""
    lists = ", ".join(f"%({name})b::{table.c[name].type.compile(engine.dialect)}[]" for name in names)
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
