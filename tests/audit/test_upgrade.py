"""Logs of the first version of the tables are upgraded, with all their rows."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from faultkit.audit.audit_sql import UPGRADES, VERSION
from faultkit.audit.store_factory import open_store
from tests.audit.rows import entry

BACK_TO_1 = (
    "ALTER TABLE audit_payloads DROP COLUMN notifications",
    "ALTER TABLE audit_payloads DROP COLUMN notifications_truncated",
    "UPDATE audit_schema SET version = 1",
)
"""Statements that undo the upgrades."""


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the name of a log of version 1 with one row."""
    where = (
        str(tmp_path / "audit.db") if request.param == "sqlite" else request.getfixturevalue("postgres").url
    )
    with open_store(where) as store:
        store.append([entry(1)])
    url = (
        f"sqlite:///{where}"
        if request.param == "sqlite"
        else where.replace("postgresql", "postgresql+psycopg", 1)
    )
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in BACK_TO_1:
            connection.execute(text(statement))
    engine.dispose()
    return where


def test_every_older_version_has_a_way_to_the_next() -> None:
    assert sorted(UPGRADES) == list(range(1, VERSION))


@pytest.mark.parametrize("create", [True, False])
def test_an_old_log_is_brought_up_and_keeps_its_rows(old: str, create: bool) -> None:
    with open_store(old, create=create) as store:
        found = store.get(entry(1).row.id)
        assert found is not None
        assert found.payload == entry(1).payload
        said = entry(2).payload
        assert said is not None
        new = entry(2)._replace(payload=said._replace(notifications="[]", notifications_truncated=True))
        store.append([new])
        again = store.get(new.row.id)
        assert again is not None
        assert again.payload == new.payload
    # The second time there is nothing to upgrade.
    open_store(old, create=create).close()


def test_concurrent_processes_upgrade_a_log_once(old: str) -> None:
    failed: list[BaseException] = []

    def open_it() -> None:
        try:
            open_store(old, create=False).close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert failed == []
    with open_store(old, create=False) as store:
        assert store.events().total == 1


def test_a_server_of_the_first_version_can_still_write(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with open_store(path) as store:
        store.append([entry(1)])
    with sqlite3.connect(path) as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(audit_payloads)")]
        old_names = ", ".join(name for name in names if not name.startswith("notifications"))
        copied = old_names.replace("event_id", "'id-2'")
        database.execute("PRAGMA foreign_keys=OFF")
        database.execute(f"INSERT INTO audit_payloads ({old_names}) SELECT {copied} FROM audit_payloads")
        found = database.execute("SELECT notifications_truncated FROM audit_payloads").fetchall()
    database.close()
    assert found == [(0,), (0,)]


def test_a_reader_upgrades_an_old_log(old: Any) -> None:
    with open_store(old, create=False) as store:
        assert [row.id for row in store.all()] == [entry(1).row.id]
