"""Rows of a busy server, which a process of its own makes and writes. Should it end, nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from faultkit.audit import row_process as module
from faultkit.audit.row_process import PendingRow, RowProcess
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter, WriterState
from faultkit.web.call_rows import call_logger, entry_of_snapshot
from faultkit.web.call_snapshot import CallSnapshot, take_snapshot
from tests.audit.rows import NOON_US
from tests.web.test_call_rows import ended_of

PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows are much, here."""
    monkeypatch.setattr(module, "BUSY", 10)


def noted(number: int) -> CallSnapshot:
    call = take_snapshot(ended_of("echo", {"message": "x"}, id=number), NOON_US + number)
    return call


def batch(first: int, count: int = 10) -> list[PendingRow]:
    return [(entry_of_snapshot, noted(number)) for number in range(first, first + count)]


def until_ready(apart: RowProcess) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if apart._is_ready or apart._is_over:
            return
        pause.wait(0.01)
    pytest.fail("it was not ready in time")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_it_makes_and_writes_the_same_rows(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    where = str(tmp_path / "audit.db") if kind == "sqlite" else request.getfixturevalue("postgres").url
    apart = RowProcess(where, entry_of_snapshot)
    try:
        assert not apart.takes(batch(0, 9))
        assert apart._child is None
        assert not apart.takes(batch(0))
        until_ready(apart)
        calls = batch(0)
        assert apart.takes(calls[:1])
        assert apart.append(calls) == []
        with open_store(where, create=False) as store:
            for seq, (make, known) in enumerate(calls, 1):
                entry = make(known)
                assert store.get(entry.row.id) == entry._replace(row=entry.row._replace(seq=seq))
        # Rows that are made already are written where they are.
        assert not apart.takes([(lambda known: known, entry)])
    finally:
        apart.close()


def test_a_call_of_which_no_row_can_be_made_is_told_and_others_are_written(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    apart = RowProcess(str(path), entry_of_snapshot)
    try:
        calls = batch(0)
        apart.takes(calls)
        until_ready(apart)
        calls[3] = (entry_of_snapshot, calls[3][1]._replace(reply=b"no JSON"))
        (why,) = apart.append(calls)
        assert why.startswith("JSONDecodeError")
    finally:
        apart.close()
    with open_store(path, create=False) as store:
        assert store.events().total == 9


def test_if_it_is_killed_rows_are_written_here_and_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    said: list[str] = []
    with open_store(path) as store:
        apart = RowProcess(str(path), entry_of_snapshot)
        with AuditWriter(store, flush_s=3600, apart=apart, say=said.append) as writer:
            log = call_logger(writer)

            def call(first: int, count: int) -> None:
                for number in range(first, first + count):
                    log(ended_of("echo", {}, id=number))
                assert writer.flush(PATIENCE_S)

            call(0, 10)
            until_ready(apart)
            call(10, 10)
            assert apart._child is not None
            os.kill(apart._child.pid, signal.SIGKILL)
            call(20, 10)
            call(30, 10)
            assert writer.state() == WriterState(written=40)
        assert [row.request_id for row in store.all()] == [str(number) for number in range(40)]
    assert said == []


def test_one_that_cannot_open_the_store_is_done_without(tmp_path: Path) -> None:
    apart = RowProcess(str(tmp_path), entry_of_snapshot)
    try:
        assert not apart.takes(batch(0))
        until_ready(apart)
        assert not apart.takes(batch(0))
    finally:
        apart.close()


def test_a_database_that_is_away_is_told_as_such(tmp_path: Path, postgres: Any) -> None:
    with open_store(postgres.url) as store:
        apart = RowProcess(postgres.url, entry_of_snapshot)
        with AuditWriter(store, flush_s=0.0, apart=apart) as writer:
            log = call_logger(writer)
            for number in range(20):
                log(ended_of("echo", {}, id=number))
            assert writer.flush(PATIENCE_S)
            apart.takes(batch(0))
            until_ready(apart)
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
