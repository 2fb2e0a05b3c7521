"""Opens a store by its name, and makes its tables where there are none."""

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

from faultkit.audit.conditions import HOLDS, LOWER
from faultkit.audit.file import LogFile
from faultkit.audit.filter import param_holds
from faultkit.audit.place import MEMORY, STORE_FORM, default_store
from faultkit.audit.schema import UPGRADES, VERSION, metadata, versions
from faultkit.audit.store import MOST_IN_MEMORY, Store, why
from faultkit.base.errors import InputError, TargetError

_CONNECT_S = 5
_SILENCE_MS = 10_000
"""How long a PostgreSQL server may leave what we sent without any sign that it came."""
_LOCK = 7_305_818_226_105_541_492
"""Any number: only one at a time makes the tables of a PostgreSQL database."""


def open_store(
    where: str | os.PathLike[str],
    *,
    create: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> Store:
    """`create`: make it if it is not there; of folders, only that of the usual place. `say`: is told when it
    is not the file any more that it was. InputError for a name that cannot be one, TargetError for a store
    that cannot be had."""
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
    _listen(engine, ())
    _prepare(engine, MEMORY, True)
    return Store(engine, MEMORY, most_rows=MOST_IN_MEMORY, lock=RLock())


def _open_file(path: Path, create: bool, make_folder: bool, say: Callable[[str], None]) -> Store:
    if not path.exists() and not create:
        raise InputError("store", f"expected an audit log, but there is no file {path}")

    def prepare() -> None:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        # What callers said is nobody else's business.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _prepare(engine, str(path), True)
        file.hold()

    def again() -> None:
        engine.dispose()
        prepare()

    file = LogFile(path, again, say)
    engine = create_engine(URL.create("sqlite", database=str(path)), creator=file.connect)
    _listen(engine, ("journal_mode=WAL", "synchronous=NORMAL"))
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
    except ImportError:
        raise InputError("store", "PostgreSQL needs psycopg: pip install 'faultkit[postgres]'") from None
    _prepare(engine, shown, create)
    return Store(engine, shown)


def _prepare(engine: Engine, name: str, create: bool) -> None:
    """Makes what is missing, if it may. TargetError for what is no audit log of ours."""
    try:
        with engine.begin() as connection:
            if create:
                _lock(connection)
                _make_tables(connection)
            elif not inspect(connection).has_table(versions.name):
                raise TargetError(f"store: {name} holds no audit log")
            elif _version(connection) in UPGRADES:
                # Somebody who only reads a log of an earlier version brings it up to this one as well.
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
    """Until the end of the transaction, nobody else makes or changes tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    else:
        # Python would begin only with the first row, and two who make tables at once would collide.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _make_tables(connection: Connection) -> None:
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


def _upgrade(connection: Connection, version: int) -> None:
    for number in range(version, VERSION):
        for statement in UPGRADES[number]:
            connection.exec_driver_sql(statement)
    connection.execute(versions.update().values(version=VERSION))


def _listen(engine: Engine, pragmas: tuple[str, ...]) -> None:
    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.create_function(HOLDS, 3, _holds, deterministic=True)
        connection.create_function(LOWER, 1, str.lower, deterministic=True)
        for pragma in (*pragmas, "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    event.listen(engine, "connect", connected)


def _holds(parameters: str | None, path: str, value: str) -> int:
    return int(param_holds(parameters, json.loads(path), json.loads(value)))
