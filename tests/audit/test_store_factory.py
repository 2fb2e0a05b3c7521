"""Stores that cannot be opened, and files that are removed or replaced."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from faultkit.audit.log_file import default_store
from faultkit.audit.store import MOST_IN_MEMORY, StoreUnavailable
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import InputError, TargetError
from tests.audit.rows import entry
from tests.postgres import Postgres


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


def test_opening_for_reading_creates_no_tables_in_another_database(
    tmp_path: Path, postgres: Postgres
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
        # A writer locks the file; readers do not wait for it.
        writing = sqlite3.connect(path, isolation_level=None)
        writing.execute("BEGIN IMMEDIATE")
        with open_store(path, create=False) as reading:
            assert reading.events().total == 1
        writing.close()


def test_the_state_folder_is_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = default_store(os.environ)
    open_store(path).close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "audit.db"
    path.parent.mkdir()
    with open_store(path) as store:
        store.append([entry(1)])
        modes = {stat.S_IMODE(os.stat(each).st_mode) for each in path.parent.iterdir()}
    assert modes == {0o600}


def test_a_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    path, said = tmp_path / "audit.db", list[str]()
    with open_store(path, say=said.append) as store:
        store.append([entry(1)])
        for each in tuple(tmp_path.iterdir()):
            each.unlink()
        store.append([entry(2)])
        assert said == [
            f"audit: {path} was removed, and is created again: earlier rows are not in the new file"
        ]
        assert store.changes == 1
        with open_store(path, create=False) as other:
            assert [row.id for row in other.events().rows] == [entry(2).row.id]


def test_a_file_that_is_put_in_the_place_of_the_log_gets_the_rows_and_nothing_of_the_other(
    tmp_path: Path,
) -> None:
    path, new, said = tmp_path / "audit.db", tmp_path / "new.db", list[str]()
    with open_store(new) as other:
        other.append([entry(1, tool_name="new")])
    # Two processes have it open: a server, and the process that writes its rows.
    with open_store(path, say=said.append) as store, open_store(path) as apart:
        store.append([entry(number, tool_name="old") for number in range(10, 20)])
        path.rename(tmp_path / "aside.db")
        new.rename(path)
        store.append([entry(2)])
        apart.append([entry(3)])
        store.append([entry(4)])
        assert [row.tool_name for row in store.all()] == ["new", "echo", "echo", "echo"]
        assert (store.changes, apart.changes) == (1, 1)
    assert said == [f"audit: {path} was replaced: earlier rows are not in the new file"]
    for each, count in ((path, 4), (tmp_path / "aside.db", 10)):
        with open_store(each, create=False) as found:
            assert found.events().total == count
        with sqlite3.connect(each) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()


def test_a_file_that_was_moved_away_and_back_is_the_same_log(tmp_path: Path) -> None:
    path, said = tmp_path / "audit.db", list[str]()
    with open_store(path, say=said.append) as store:
        store.append([entry(1)])
        path.rename(tmp_path / "aside.db")
        path.mkdir()
        with pytest.raises(StoreUnavailable):
            store.append([entry(2)])
        path.rmdir()
        (tmp_path / "aside.db").rename(path)
        store.append([entry(2)])
        assert (store.events().total, store.changes, said) == (2, 0, [])


def test_of_folders_only_that_of_the_usual_place_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TargetError, match=r"^store: cannot open .*: No such file or directory$"):
        open_store(tmp_path / "none" / "audit.db")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with open_store(default_store(os.environ)) as store:
        store.append([entry(1)])


def test_memory_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_IN_MEMORY == 100_000
    monkeypatch.setattr("faultkit.audit.store_factory.MOST_IN_MEMORY", 3)
    with open_store("memory:") as store:
        store.append([entry(number) for number in range(5)])
        store.append([entry(5)])
        assert [row.id for row in store.after(0)] == [entry(number).row.id for number in (3, 4, 5)]
        assert store.get(entry(0).row.id) is None


def test_the_default_is_in_the_folder_for_state() -> None:
    assert default_store({"HOME": "/h", "XDG_STATE_HOME": "/s"}) == Path("/s/faultkit/audit.db")
    assert default_store({"HOME": "/h"}).is_relative_to("/h")
