"""Where rows are kept: a SQLite file, PostgreSQL, or memory. All are spoken to in the same words.

It knows nothing of calls, queues or users. What the database refuses for now is `StoreAway`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, Select, delete, func, select, tuple_
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from faultkit.audit.conditions import conditions_of
from faultkit.audit.file import LogFile
from faultkit.audit.filter import Filter
from faultkit.audit.inserts import insert_into
from faultkit.audit.row import PAYLOAD_FIELDS, ROW_FIELDS, AuditRow, Entry, Payload
from faultkit.audit.schema import events, payloads
from faultkit.base.errors import RunError, TargetError

MOST_IN_MEMORY = 100_000
"""Rows of a store in memory: older ones make room."""
_PAGE = 1000
_TURN = 7_305_818_226_105_541_493
"""Any number: the name of a lock."""
_TURN_MS = 5000
T = TypeVar("T")
_WRITTEN = ROW_FIELDS[:-1]
"""The store itself gives `seq`."""


class StoreAway(RunError):
    """The database cannot be had just now: locked, full, or gone. It may come back."""


class StoreRefused(RunError):
    """The database is there, and does not take what it was given: trying again will not help."""


@dataclass(frozen=True, slots=True)
class Page:
    rows: tuple[AuditRow, ...]
    total: int
    """All that the filter lets through."""


class Store:
    def __init__(
        self,
        engine: Engine,
        name: str,
        *,
        most_rows: int | None = None,
        file: LogFile | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """`file`: of a database that is one, and has to be still the one that was opened.
        `lock`: for one that has a single connection for all threads."""
        self._lock = lock or nullcontext()
        self.name = name
        self._engine = engine
        self._most_rows = most_rows
        self._file = file
        # An answer that was lost on its way is no reason to write a row twice.
        self._add_rows = insert_into(events, _WRITTEN, "id", engine)
        self._add_payloads = insert_into(payloads, ("event_id", *PAYLOAD_FIELDS), "event_id", engine)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._engine.dispose()

    @property
    def changes(self) -> int:
        """How often another file was in the place of the one that was opened."""
        return 0 if self._file is None else self._file.changes

    def check(self) -> None:
        """That the file is still the one that was opened. Whoever writes does so; who has others write for
        them should. Raises StoreAway."""
        if self._file is not None:
            self.write(lambda connection: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def append(self, entries: Sequence[Entry]) -> None:
        """All of them or none, in their order. What is there already stays as it is."""
        if not entries:
            return
        rows = [entry.row[:-1] for entry in entries]
        said = [(entry.row.id, *entry.payload) for entry in entries if entry.payload is not None]

        def write(connection: Connection) -> None:
            if connection.dialect.name == "postgresql":
                _take_turns(connection)
            self._add_rows(connection, rows)
            if said:
                self._add_payloads(connection, said)
            if self._most_rows is not None:
                newest = select(func.max(events.c.seq)).scalar_subquery()
                _remove(connection, events.c.seq <= newest - self._most_rows)

        self.write(write)

    def events(self, filter: Filter | None = None) -> Page:
        """Newest first."""
        wanted = filter or Filter()
        held = conditions_of(wanted, self._engine.dialect.name)
        newest = select(events).where(*held).order_by(events.c.at_us.desc(), events.c.seq.desc())
        if wanted.before is not None:
            newest = newest.where(tuple_(events.c.at_us, events.c.seq) < wanted.before)
        total = select(func.count()).select_from(events).where(*held)

        def read(connection: Connection) -> Page:
            rows = _rows(connection, newest.limit(wanted.limit).offset(wanted.offset))
            return Page(rows, connection.execute(total).scalar_one())

        return self.read(read)

    def after(self, seq: int, filter: Filter | None = None, limit: int = _PAGE) -> tuple[AuditRow, ...]:
        """In the order in which they were written, from the one after `seq` on. The limit and the offset of
        the filter do not count."""
        held = conditions_of(filter or Filter(), self._engine.dialect.name)
        wanted = select(events).where(events.c.seq > seq, *held).order_by(events.c.seq).limit(limit)
        return self.read(lambda connection: _rows(connection, wanted))

    def count(self, after: int, to: int, filter: Filter | None = None) -> int:
        """Rows behind the place `after`, up to the place `to`."""
        held = conditions_of(filter or Filter(), self._engine.dialect.name)
        between = (events.c.seq > after, events.c.seq <= to)
        wanted = select(func.count()).select_from(events).where(*between, *held)
        return self.read(lambda connection: int(connection.execute(wanted).scalar_one()))

    def all(self, filter: Filter | None = None) -> Iterator[AuditRow]:
        """As `after`, to the end."""
        seq = 0
        while page := self.after(seq, filter):
            yield from page
            seq = page[-1].seq

    def last_seq(self) -> int:
        newest = select(func.coalesce(func.max(events.c.seq), 0))
        return self.read(lambda connection: int(connection.execute(newest).scalar_one()))

    def get(self, id: str) -> Entry | None:
        def read(connection: Connection) -> Entry | None:
            rows = _rows(connection, select(events).where(events.c.id == id))
            if not rows:
                return None
            said = connection.execute(select(payloads).where(payloads.c.event_id == id)).mappings().first()
            return Entry(rows[0], None if said is None else Payload(**{n: said[n] for n in PAYLOAD_FIELDS}))

        # PostgreSQL would not even look for a text with NUL.
        return None if "\0" in id else self.read(read)

    def prune(self, older_than_us: int) -> int:
        """Removes rows of calls that began before; returns how many."""
        return self.write(lambda connection: _remove(connection, events.c.at_us < older_than_us))

    def write(self, work: Callable[[Connection], T]) -> T:
        """All of the work or nothing. Raises StoreAway or StoreRefused."""
        try:
            if self._file is not None:
                self._file.check()
            with self._lock, self._engine.begin() as connection:
                return work(connection)
        except OSError as error:
            raise StoreAway(f"{self.name}: {error.strerror or error}") from None
        except TargetError as error:
            raise StoreAway(str(error)) from None
        except SQLAlchemyError as error:
            raise self._told(error) from None

    def read(self, work: Callable[[Connection], T]) -> T:
        """Raises StoreAway or StoreRefused."""
        try:
            with self._lock, self._engine.connect() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise self._told(error) from None

    def _told(self, error: SQLAlchemyError) -> RunError:
        away = isinstance(error, OperationalError | InterfaceError | PoolTimeout) or (
            isinstance(error, DBAPIError) and error.connection_invalidated
        )
        return (StoreAway if away else StoreRefused)(f"{self.name}: {why(error)}")


def why(error: SQLAlchemyError) -> str:
    """In the words of the database, in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())[:300] or type(cause).__name__


def _take_turns(connection: Connection) -> None:
    """A row gets its place before it can be seen. If two wrote at once, whoever follows the log would miss
    those of a lower place that are seen later."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_TURN_MS}")
    connection.execute(select(func.pg_advisory_xact_lock(_TURN)))


def _rows(connection: Connection, wanted: Select[Any]) -> tuple[AuditRow, ...]:
    return tuple(AuditRow(**row) for row in connection.execute(wanted).mappings())


def _remove(connection: Connection, which: Any) -> int:
    connection.execute(delete(payloads).where(payloads.c.event_id.in_(select(events.c.id).where(which))))
    return connection.execute(delete(events).where(which)).rowcount
