"""Opens a store by its name, and creates or upgrades its tables."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import RLock

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable

from faultkit.audit.audit_sql import HOLDS, LOWER, UPGRADES, VERSION, metadata, versions
from faultkit.audit.filter import param_holds
from faultkit.audit.log_file import MEMORY, STORE_FORM, LogFile, default_store
from faultkit.audit.store import MOST_IN_MEMORY, Store, why
from faultkit.base.errors import InputError, TargetError
from faultkit.base.text import one_line

_CONNECT_S = 5
_SILENCE_MS = 10_000
"""Time after which unacknowledged data ends a PostgreSQL connection."""
_LOCK = 7_305_818_226_105_541_492
"""Key of the advisory lock for creating tables in PostgreSQL; any fixed number."""


def open_store(
    where: str | os.PathLike[str],
    *,
    create: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> Store:
    """Open a store. `create`: create it if it does not exist; a folder is created only for the default path.
    `say`: receives one line when the file is replaced. Raises InputError for an invalid name, and TargetError
    for a store that cannot be opened."""
    name = os.fspath(where)
    if name == MEMORY:
        return _open_memory()
    if "://" in name:
        return _open_url(name, create)
    if not name or "\0" in name:
        raise InputError("store", f"expected {STORE_FORM}, got {name!r}")
    path = Path(name).expanduser()
    return _open_file(path, create, create and path == default_store(os.environ), say)


def _open_memory() -> Store:
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    _configure(engine, ())
    _prepare(engine, MEMORY, True)
    return Store(engine, MEMORY, most_rows=MOST_IN_MEMORY, lock=RLock())


def _open_file(path: Path, create: bool, create_folder: bool, say: Callable[[str], None]) -> Store:
    if not os.path.exists(path) and not create:
        raise InputError("store", f"expected an audit log, but there is no file {path}")

    def prepare() -> None:
        if create_folder:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Only the owner may read it: it contains what callers sent.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _prepare(engine, str(path), True)
        file.hold()

    def again() -> None:
        engine.dispose()
        prepare()

    file = LogFile(path, again, say)
    engine = create_engine(URL.create("sqlite", database=str(path)), creator=file.connect)
    _configure(engine, ("journal_mode=WAL", "synchronous=NORMAL"))
    try:
        if create:
            prepare()
        else:
            _prepare(engine, str(path), False)
            file.hold()
    except OSError as error:
        raise TargetError(f"store: cannot open {path}: {error.strerror or error}") from None
    return Store(engine, str(path), file=file)


def _open_url(name: str, create: bool) -> Store:
    try:
        url = make_url(name)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise InputError("store", f"expected {STORE_FORM}, got a URL that cannot be read") from None
    if backend not in ("postgresql", "postgres"):
        raise InputError("store", f"expected {STORE_FORM}, got {backend}://…")
    shown = url.render_as_string(hide_password=True)
    try:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            connect_args={"connect_timeout": _CONNECT_S, "tcp_user_timeout": _SILENCE_MS},
        )
    except ImportError as error:
        from faultkit.base.installation import require_extra

        require_extra("postgres", f"the store {shown}")
        # It is installed, but finds no libpq.
        raise InputError("store", f"expected psycopg to work: {one_line(str(error))}") from None
    _prepare(engine, shown, create)
    return Store(engine, shown)


def _prepare(engine: Engine, name: str, create: bool) -> None:
    """Create or upgrade the tables. Raises TargetError if the database holds something else."""
    try:
        with engine.begin() as connection:
            if create:
                _lock(connection)
                _create_tables(connection)
            elif not inspect(connection).has_table(versions.name):
                raise TargetError(f"store: {name} holds no audit log")
            elif _version(connection) in UPGRADES:
                # An older log is upgraded even if it is opened for reading only.
                _lock(connection)
            found = _version(connection)
            if create and found is None:
                connection.execute(versions.insert().values(version=VERSION))
            elif found in UPGRADES:
                _upgrade(connection, found)
            elif found != VERSION:
                raise TargetError(
                    f"store: {name} was made by another version of Faultkit (tables of version {found})"
                )
    except SQLAlchemyError as error:
        engine.dispose()
        raise TargetError(f"store: cannot open {name}: {why(error)}") from None
    except TargetError:
        engine.dispose()
        raise


def _version(connection: Connection) -> int | None:
    return connection.execute(select(versions.c.version)).scalar_one_or_none()


def _lock(connection: Connection) -> None:
    """Keep other processes from changing tables until the end of the transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    else:
        # sqlite3 begins a transaction only with the first INSERT; two processes could create tables at once.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _create_tables(connection: Connection) -> None:
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


def _upgrade(connection: Connection, version: int) -> None:
    for number in range(version, VERSION):
        for statement in UPGRADES[number]:
            connection.exec_driver_sql(statement)
    connection.execute(versions.update().values(version=VERSION))


def _configure(engine: Engine, pragmas: tuple[str, ...]) -> None:
    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.create_function(HOLDS, 3, _holds, deterministic=True)
        connection.create_function(LOWER, 1, str.lower, deterministic=True)
        for pragma in (*pragmas, "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    event.listen(engine, "connect", connected)


def _holds(parameters: str | None, path: str, value: str) -> int:
    return int(param_holds(parameters, json.loads(path), json.loads(value)))
