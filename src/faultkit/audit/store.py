"""The store of the audit log: a SQLite file, PostgreSQL, or memory, behind one interface.

It knows rows only: nothing of calls, queues or users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, Select, delete, func, select, tuple_
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from faultkit.audit.audit_sql import bulk_insert, events, payloads, where_clauses
from faultkit.audit.filter import Filter
from faultkit.audit.log_file import LogFile
from faultkit.audit.row import PAYLOAD_FIELDS, ROW_FIELDS, AuditEntry, AuditRow, Payload
from faultkit.base.errors import RunError, TargetError
from faultkit.base.text import one_line

MOST_IN_MEMORY = 100_000
"""Limit of rows of a store in memory; the oldest are removed."""
_PAGE = 1000
_TURN = 7_305_818_226_105_541_493
"""Key of an advisory lock; any fixed number."""
_TURN_MS = 5000
T = TypeVar("T")
_WRITTEN = ROW_FIELDS[:-1]
"""All fields but `seq`, which the database assigns."""


class StoreUnavailable(RunError):
    """The database is locked, full or unreachable. A later attempt may succeed."""


class StoreRefused(RunError):
    """The database rejects the statement. Another attempt will fail, too."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of rows."""

    rows: tuple[AuditRow, ...]
    total: int
    """Number of all rows that the filter selects."""


class Store:
    """Rows and payloads in one database. It may be used from any thread."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        *,
        most_rows: int | None = None,
        file: LogFile | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """`file`: the file of a SQLite database, checked before each write. `lock`: needed for a database
        with a single connection for all threads."""
        self._lock = lock or nullcontext()
        self.name = name
        self._engine = engine
        self._most_rows = most_rows
        self._file = file
        # Inserts skip existing rows: a batch is sent again if the answer to the first attempt was lost.
        self._add_rows = bulk_insert(events, _WRITTEN, "id", engine)
        self._add_payloads = bulk_insert(payloads, ("event_id", *PAYLOAD_FIELDS), "event_id", engine)

    def close(self) -> None:
        """Close all connections."""
        if self._file is not None:
            self._file.close()
        self._engine.dispose()

    @property
    def changes(self) -> int:
        """Number of times that the file was replaced by another."""
        return 0 if self._file is None else self._file.changes

    def check(self) -> None:
        """Open the file again if it was replaced. Writing does so too; call this before another process
        writes. Raises StoreUnavailable."""
        if self._file is not None:
            self.write(lambda connection: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def append(self, entries: Sequence[AuditEntry]) -> None:
        """Insert all entries in order, or none. Existing rows are not changed."""
        if not entries:
            return
        rows = [entry.row[:-1] for entry in entries]
        payload_rows = [(entry.row.id, *entry.payload) for entry in entries if entry.payload is not None]

        def write(connection: Connection) -> None:
            if connection.dialect.name == "postgresql":
                _serialise_writers(connection)
            self._add_rows(connection, rows)
            if payload_rows:
                self._add_payloads(connection, payload_rows)
            if self._most_rows is not None:
                newest = select(func.max(events.c.seq)).scalar_subquery()
                _remove(connection, events.c.seq <= newest - self._most_rows)

        self.write(write)

    def events(self, filter: Filter | None = None) -> RowPage:
        """Return a page of rows, newest first."""
        wanted = filter or Filter()
        clauses = where_clauses(wanted, self._engine.dialect.name)
        newest = select(events).where(*clauses).order_by(events.c.at_us.desc(), events.c.seq.desc())
        if wanted.before is not None:
            newest = newest.where(tuple_(events.c.at_us, events.c.seq) < wanted.before)
        total = select(func.count()).select_from(events).where(*clauses)

        def read(connection: Connection) -> RowPage:
            rows = _rows(connection, newest.limit(wanted.limit).offset(wanted.offset))
            return RowPage(rows, connection.execute(total).scalar_one())

        return self.read(read)

    def after(self, seq: int, filter: Filter | None = None, limit: int = _PAGE) -> tuple[AuditRow, ...]:
        """Return rows in the order of writing, beginning after `seq`. The limit and the offset of the
        filter are ignored."""
        clauses = where_clauses(filter or Filter(), self._engine.dialect.name)
        wanted = select(events).where(events.c.seq > seq, *clauses).order_by(events.c.seq).limit(limit)
        return self.read(lambda connection: _rows(connection, wanted))

    def count(self, after: int, to: int, filter: Filter | None = None) -> int:
        """Return the number of rows after position `after`, up to position `to`."""
        clauses = where_clauses(filter or Filter(), self._engine.dialect.name)
        between = (events.c.seq > after, events.c.seq <= to)
        wanted = select(func.count()).select_from(events).where(*between, *clauses)
        return self.read(lambda connection: int(connection.execute(wanted).scalar_one()))

    def all(self, filter: Filter | None = None) -> Iterator[AuditRow]:
        """Yield all rows in the order of writing."""
        seq = 0
        while page := self.after(seq, filter):
            yield from page
            seq = page[-1].seq

    def last_seq(self) -> int:
        """Return the position of the newest row; 0 if there is none."""
        newest = select(func.coalesce(func.max(events.c.seq), 0))
        return self.read(lambda connection: int(connection.execute(newest).scalar_one()))

    def get(self, id: str) -> AuditEntry | None:
        """Return the entry with this id; None if there is none."""

        def read(connection: Connection) -> AuditEntry | None:
            rows = _rows(connection, select(events).where(events.c.id == id))
            if not rows:
                return None
            said = connection.execute(select(payloads).where(payloads.c.event_id == id)).mappings().first()
            return AuditEntry(
                rows[0], None if said is None else Payload(**{n: said[n] for n in PAYLOAD_FIELDS})
            )

        # PostgreSQL rejects a text with NUL.
        return None if "\0" in id else self.read(read)

    def newest_us(self) -> int | None:
        """Return the latest time at which a call in the log began; None if there is none."""
        newest = select(func.max(events.c.at_us))
        found: int | None = self.read(lambda connection: connection.execute(newest).scalar_one())
        return found

    def prune(self, older_than_us: int) -> int:
        """Remove rows of calls that began before a time, and return their number."""
        return self.write(lambda connection: _remove(connection, events.c.at_us < older_than_us))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run the work in a transaction. Raises StoreUnavailable or StoreRefused."""
        try:
            if self._file is not None:
                self._file.check()
            with self._lock, self._engine.begin() as connection:
                return work(connection)
        except OSError as error:
            raise StoreUnavailable(f"{self.name}: {error.strerror or error}") from None
        except TargetError as error:
            raise StoreUnavailable(str(error)) from None
        except SQLAlchemyError as error:
            raise self._translated(error) from None

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run the work on a connection. Raises StoreUnavailable or StoreRefused."""
        try:
            with self._lock, self._engine.connect() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise self._translated(error) from None

    def _translated(self, error: SQLAlchemyError) -> RunError:
        away = isinstance(error, OperationalError | InterfaceError | PoolTimeout) or (
            isinstance(error, DBAPIError) and error.connection_invalidated
        )
        return (StoreUnavailable if away else StoreRefused)(f"{self.name}: {why(error)}")


def why(error: SQLAlchemyError) -> str:
    """Return the message of the database, in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return one_line(str(cause))[:300] or type(cause).__name__


def _serialise_writers(connection: Connection) -> None:
    """Let one transaction insert at a time.

    PostgreSQL assigns `seq` before the commit. With concurrent writers, a row with a lower `seq` could become
    visible after one with a higher `seq`, and readers of the live stream would miss it."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_TURN_MS}")
    connection.execute(select(func.pg_advisory_xact_lock(_TURN)))


def _rows(connection: Connection, wanted: Select[Any]) -> tuple[AuditRow, ...]:
    return tuple(AuditRow(**row) for row in connection.execute(wanted).mappings())


def _remove(connection: Connection, which: Any) -> int:
    connection.execute(delete(payloads).where(payloads.c.event_id.in_(select(events.c.id).where(which))))
    return connection.execute(delete(events).where(which)).rowcount
