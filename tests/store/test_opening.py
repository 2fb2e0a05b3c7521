"""Stores that cannot be had, and files that vanish."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from faultkit.errors import InputError, TargetError
from faultkit.store.opening import open_store
from faultkit.store.place import default_store
from faultkit.store.store import MOST_IN_MEMORY
from tests.store.rows import entry


@pytest.mark.parametrize(
    "name", ["", "a\0b", "mysql://x/y", "http://localhost", "postgresql://h:port/x", "://"]
)
def test_a_name_that_cannot_be_a_store_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^store: expected a file, postgresql://"):
        open_store(name)


def test_a_password_is_not_shown(closed_port: int) -> None:
    with pytest.raises(TargetError) as caught:
        open_store(f"postgresql://me:hunter2@127.0.0.1:{closed_port}/x")
    assert "hunter2" not in str(caught.value)
    assert "me:***@127.0.0.1" in str(caught.value)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 100, "utf-8")
    with pytest.raises(TargetError, match="file is not a database"):
        open_store(path)
    assert path.read_text("utf-8") == "dear diary " * 100


def test_tables_of_another_version_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    open_store(path).close()
    with sqlite3.connect(path) as other:
        other.execute("UPDATE audit_schema SET version = 99")
    other.close()
    with pytest.raises(TargetError, match="another version of Faultkit"):
        open_store(path)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="Is a directory"):
        open_store(tmp_path)


def test_what_is_only_read_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        open_store(tmp_path / "none.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_somebody_else_is_not_written_to_by_who_only_reads(
    tmp_path: Path, postgres: Any
) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(TargetError, match="holds no audit log"):
        open_store(path, create=False)
    assert path.read_bytes()[100:] == before[100:]
    with pytest.raises(TargetError, match="holds no audit log"):
        open_store(postgres.url, create=False)


def test_a_log_that_may_not_be_written_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with open_store(path) as store:
        store.append([entry(1)])
        # One who writes holds the file; one who reads does not wait for that.
        writing = sqlite3.connect(path, isolation_level=None)
        writing.execute("BEGIN IMMEDIATE")
        with open_store(path, create=False) as reading:
            assert reading.events().total == 1
        writing.close()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "audit.db"
    with open_store(path) as store:
        store.append([entry(1)])
        modes = {stat.S_IMODE(os.stat(each).st_mode) for each in path.parent.iterdir()}
    assert modes == {0o600}


def test_a_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with open_store(path) as store:
        store.append([entry(1)])
        for each in tuple(tmp_path.iterdir()):
            each.unlink()
        store.append([entry(2)])
        with open_store(path, create=False) as other:
            assert [row.id for row in other.events().rows] == [entry(2).row.id]


def test_memory_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_IN_MEMORY == 100_000
    monkeypatch.setattr("faultkit.store.opening.MOST_IN_MEMORY", 3)
    with open_store("memory:") as store:
        store.append([entry(number) for number in range(5)])
        store.append([entry(5)])
        assert [row.id for row in store.after(0)] == [entry(number).row.id for number in (3, 4, 5)]
        assert store.get(entry(0).row.id) is None


def test_the_default_is_in_the_folder_for_state() -> None:
    assert default_store({"HOME": "/h", "XDG_STATE_HOME": "/s"}) == Path("/s/faultkit/audit.db")
    assert default_store({"HOME": "/h"}).is_relative_to("/h")
