"""The process that builds and writes the rows of a busy server. If it ends, no row is lost."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from faultkit.audit import row_process as module
from faultkit.audit.row_process import PendingRow, RowProcess
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter, WriterState
from faultkit.web.call_rows import CallSnapshot, call_logger, entry_of_snapshot, take_snapshot
from tests.audit.rows import NOON_US
from tests.postgres import Postgres
from tests.web.test_call_rows import ended_of

PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def low_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a batch of ten rows be large enough for the process."""
    monkeypatch.setattr(module, "BUSY", 10)


def snapshot_of(number: int) -> CallSnapshot:
    return take_snapshot(ended_of("echo", {"message": "x"}, id=number), NOON_US + number)


def batch(first: int, count: int = 10) -> list[PendingRow]:
    return [(entry_of_snapshot, snapshot_of(number)) for number in range(first, first + count)]


def until_ready(process: RowProcess) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if process._is_ready or process._is_over:
            return
        pause.wait(0.01)
    pytest.fail("it was not ready in time")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_it_makes_and_writes_the_same_rows(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    where = str(tmp_path / "audit.db") if kind == "sqlite" else request.getfixturevalue("postgres").url
    process = RowProcess(where, entry_of_snapshot)
    try:
        assert not process.takes(batch(0, 9))
        assert process._child is None
        assert not process.takes(batch(0))
        until_ready(process)
        calls = batch(0)
        assert process.takes(calls[:1])
        assert process.append(calls) == []
        with open_store(where, create=False) as store:
            for seq, (make, known) in enumerate(calls, 1):
                entry = make(known)
                assert store.get(entry.row.id) == entry._replace(row=entry.row._replace(seq=seq))
        # Rows that are already built are written in the parent process.
        assert not process.takes([(lambda known: known, entry)])
    finally:
        process.close()


def test_a_row_that_cannot_be_built_is_reported_and_others_are_written(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    process = RowProcess(str(path), entry_of_snapshot)
    try:
        calls = batch(0)
        process.takes(calls)
        until_ready(process)
        calls[3] = (entry_of_snapshot, calls[3][1]._replace(reply=b"no JSON"))
        (why,) = process.append(calls)
        assert why.startswith("JSONDecodeError")
    finally:
        process.close()
    with open_store(path, create=False) as store:
        assert store.events().total == 9


def test_if_it_is_killed_rows_are_written_here_and_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    said: list[str] = []
    with open_store(path) as store:
        process = RowProcess(str(path), entry_of_snapshot)
        with AuditWriter(store, flush_s=3600, process=process, say=said.append) as writer:
            log = call_logger(writer)

            def call(first: int, count: int) -> None:
                for number in range(first, first + count):
                    log(ended_of("echo", {}, id=number))
                assert writer.flush(PATIENCE_S)

            call(0, 10)
            until_ready(process)
            call(10, 10)
            assert process._child is not None
            os.kill(process._child.pid, signal.SIGKILL)
            call(20, 10)
            call(30, 10)
            assert writer.state() == WriterState(written=40)
        assert [row.request_id for row in store.all()] == [str(number) for number in range(40)]
    assert said == []


def test_one_that_cannot_open_the_store_is_done_without(tmp_path: Path) -> None:
    process = RowProcess(str(tmp_path), entry_of_snapshot)
    try:
        assert not process.takes(batch(0))
        until_ready(process)
        assert not process.takes(batch(0))
    finally:
        process.close()


def test_an_unavailable_database_is_reported_as_such(tmp_path: Path, postgres: Postgres) -> None:
    with open_store(postgres.url) as store:
        process = RowProcess(postgres.url, entry_of_snapshot)
        with AuditWriter(store, flush_s=0.0, process=process) as writer:
            log = call_logger(writer)
            for number in range(20):
                log(ended_of("echo", {}, id=number))
            assert writer.flush(PATIENCE_S)
            process.takes(batch(0))
            until_ready(process)
            postgres.stop()
            try:
                for number in range(20, 40):
                    log(ended_of("echo", {}, id=number))
                pause = threading.Event()
                for _ in range(int(PATIENCE_S / 0.01)):
                    if writer.state().away:
                        break
                    pause.wait(0.01)
                assert writer.state().away
            finally:
                postgres.start()
            assert writer.flush(PATIENCE_S)
            assert writer.state() == WriterState(written=40)
        assert [row.request_id for row in store.all()] == [str(number) for number in range(40)]
