"""The writer: rows are in order, and no row is lost without being counted, whatever the database does."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from faultkit.audit.row import AuditEntry
from faultkit.audit.store import Store, StoreUnavailable
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import FLUSH_S, AuditWriter, WriterState
from tests.audit.rows import NOON_US, entry
from tests.postgres import Postgres

PATIENCE_S = 20.0
NEVER_S = 3600.0


class Gate:
    """A store with a gate. If it is closed, writes block; if it is away, they fail."""

    name = "gate"
    changes = 0

    def __init__(self, store: Store) -> None:
        self.store = store
        self.open = threading.Event()
        self.open.set()
        self.away = False
        self.batches: list[int] = []
        self.asked = threading.Semaphore(0)

    def append(self, entries: Sequence[AuditEntry]) -> None:
        self.asked.release()
        assert self.open.wait(PATIENCE_S)
        if self.away:
            raise StoreUnavailable("gate: closed")
        self.batches.append(len(entries))
        self.store.append(entries)

    def newest_us(self) -> int | None:
        return self.store.newest_us()

    def prune(self, older_than_us: int) -> int:
        return self.store.prune(older_than_us)

    def as_store(self) -> Store:
        return self  # type: ignore[return-value]


@pytest.fixture
def gate() -> Any:
    with open_store("memory:") as store:
        yield Gate(store)


def written(store: Store) -> list[int]:
    return [int(row.id[-12:]) for row in store.all()]


def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition holds, because the writer is another thread."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.005)):
        if holds():
            return
        pause.wait(0.005)
    pytest.fail("it did not come to that in time")


def test_the_interval_is_the_one_that_is_stated() -> None:
    assert FLUSH_S == 0.2


def test_rows_are_written_in_order_without_anybody_asking(gate: Gate) -> None:
    with AuditWriter(gate.as_store(), flush_s=0.01) as writer:
        for number in range(10):
            writer.add(entry(number))
        until(lambda: writer.state().written == 10)
    assert written(gate.store) == list(range(10))


def test_closing_writes_what_waits_in_batches(gate: Gate) -> None:
    writer = AuditWriter(gate.as_store(), flush_s=NEVER_S)
    for number in range(2500):
        writer.add(entry(number))
    assert writer.close() == WriterState(written=2500)
    assert written(gate.store) == list(range(2500))
    assert len(gate.batches) == 3


def test_a_flush_does_not_wait_for_the_interval(gate: Gate) -> None:
    with AuditWriter(gate.as_store(), flush_s=NEVER_S) as writer:
        writer.add(entry(1))
        assert writer.flush(PATIENCE_S)
        assert written(gate.store) == [1]


def test_with_drop_a_row_for_which_there_is_no_room_is_counted(gate: Gate) -> None:
    gate.open.clear()
    with AuditWriter(gate.as_store(), policy="drop", most_waiting=3, flush_s=0.0) as writer:
        for number in range(8):
            writer.add(entry(number))
        assert writer.state() == WriterState(waiting=3, dropped=5)
        assert writer.state().lost == 5
        gate.open.set()
    assert written(gate.store) == [0, 1, 2]


def test_what_waits_is_bounded_in_bytes_as_well(gate: Gate) -> None:
    gate.open.clear()
    with AuditWriter(gate.as_store(), policy="drop", most_bytes=10_000, flush_s=0.0) as writer:
        for number in range(8):
            writer.add_later(lambda known: known, entry(number), 4000)
        # The third entry finds 8,000 bytes pending, and is added; the others find 12,000.
        assert writer.state() == WriterState(waiting=3, dropped=5)
        gate.open.set()
        assert writer.flush(PATIENCE_S)
        writer.add_later(lambda known: known, entry(8), 50_000)
        assert writer.flush(PATIENCE_S)
        assert writer.state() == WriterState(written=4, dropped=5)
    assert written(gate.store) == [0, 1, 2, 8]


def test_a_batch_is_bounded_in_bytes_as_well(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.audit.writer.BATCH_BYTES", 10_000)
    writer = AuditWriter(gate.as_store(), flush_s=NEVER_S)
    for number in range(7):
        writer.add_later(lambda known: known, entry(number), 4000)
    assert writer.close() == WriterState(written=7)
    assert gate.batches == [3, 3, 1]


def test_a_row_that_cannot_be_made_does_not_take_others_with_it(gate: Gate) -> None:
    said: list[str] = []
    writer = AuditWriter(gate.as_store(), flush_s=NEVER_S, say=said.append)
    for number in (0, 1, None, 3):
        writer.add_later(entry, number, 1)
    assert writer.close() == WriterState(written=3, refused=1)
    assert written(gate.store) == [0, 1, 3]
    assert len(said) == 1
    assert said[0].startswith("audit: no row could be made of a call: TypeError: ")


def test_with_block_a_caller_waits_for_room_and_nothing_is_lost(gate: Gate) -> None:
    gate.open.clear()
    with AuditWriter(gate.as_store(), policy="block", most_waiting=3, flush_s=0.0) as writer:
        added: list[int] = []

        def call() -> None:
            for number in range(8):
                writer.add(entry(number))
                added.append(number)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        until(lambda: len(added) == 3)
        assert gate.asked.acquire(timeout=PATIENCE_S)
        assert added == [0, 1, 2]
        gate.open.set()
        thread.join(PATIENCE_S)
        assert added == list(range(8))
    assert written(gate.store) == list(range(8))
    assert writer.state() == WriterState(written=8)


def test_with_block_callers_are_slowed_long_before_there_is_no_room(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.audit.writer.MOST_BEHIND", 3)
    gate.open.clear()
    with AuditWriter(gate.as_store(), policy="block", most_waiting=6, flush_s=0.0) as writer:
        added: list[int] = []

        def call() -> None:
            for number in range(8):
                writer.add(entry(number))
                added.append(number)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        until(lambda: len(added) == 3)
        assert gate.asked.acquire(timeout=PATIENCE_S)
        assert added == [0, 1, 2]
        # The store is away: blocked callers continue, and rows are queued as long as there is room.
        gate.away = True
        gate.open.set()
        thread.join(PATIENCE_S)
        assert added == list(range(8))
        assert writer.state() == WriterState(waiting=6, dropped=2, away="gate: closed")
        gate.away = False
    assert written(gate.store) == list(range(6))


def test_even_with_block_calls_do_not_wait_for_an_unavailable_database(gate: Gate) -> None:
    gate.away = True
    said: list[str] = []
    with AuditWriter(gate.as_store(), policy="block", most_waiting=3, flush_s=0.0, say=said.append) as writer:
        for number in range(8):
            writer.add(entry(number))
        until(lambda: writer.state().away != "")
        assert writer.state() == WriterState(waiting=3, dropped=5, away="gate: closed")
        gate.away = False
        assert writer.flush(PATIENCE_S)
        assert writer.state() == WriterState(written=3, dropped=5)
    assert written(gate.store) == [0, 1, 2]
    assert said == [
        "audit: rows wait for the database: gate: closed",
        "audit: the database is back, and rows are written",
    ]


def test_with_block_a_database_that_does_not_answer_holds_callers_up_once_only(gate: Gate) -> None:
    gate.open.clear()
    writer = AuditWriter(gate.as_store(), most_waiting=3, flush_s=0.0, block_s=0.02)
    for number in range(500):
        writer.add(entry(number))
    assert writer.state() == WriterState(waiting=3, dropped=497, away="gate: no row was taken for 0.02 s")
    gate.open.set()
    assert writer.flush(PATIENCE_S)
    writer.add(entry(3))
    assert writer.close() == WriterState(written=4, dropped=497)
    assert written(gate.store) == [0, 1, 2, 3]


def test_what_cannot_be_written_at_the_end_is_counted(gate: Gate) -> None:
    gate.away = True
    writer = AuditWriter(gate.as_store(), flush_s=NEVER_S)
    for number in range(1500):
        writer.add(entry(number))
    state = writer.close(within_s=0.05)
    assert (state.written, state.waiting, state.lost) == (0, 0, 1500)
    writer.add(entry(1))
    assert writer.state().lost == 1501


def test_a_bad_row_does_not_take_others_with_it(gate: Gate) -> None:
    said: list[str] = []
    writer = AuditWriter(gate.as_store(), flush_s=NEVER_S, say=said.append)
    for number in range(20):
        writer.add(entry(number, tool_name=None) if number in (3, 17) else entry(number))
    writer.add(entry(20, request_chars=2**70))
    writer.miss(ValueError("it was odd"))
    assert writer.close() == WriterState(written=18, refused=4)
    assert written(gate.store) == [number for number in range(20) if number not in (3, 17)]
    assert len(said) == 4
    assert said[0] == "audit: no row could be made of a call: ValueError: it was odd"
    assert said[1].startswith("audit: a row was refused: memory:: NOT NULL")


def test_old_rows_are_removed_at_the_start(gate: Gate) -> None:
    gate.store.append([entry(1, at_us=0), entry(2, at_us=NOON_US * 2)])
    with AuditWriter(gate.as_store(), keep_s=86400.0):
        until(lambda: written(gate.store) == [2])


def test_a_clock_that_is_ahead_does_not_empty_the_log(gate: Gate) -> None:
    day_us = 86_400_000_000
    gate.store.append([entry(1, at_us=NOON_US - 2 * day_us), entry(2, at_us=NOON_US - day_us // 2)])
    gate.store.append([entry(3, at_us=NOON_US)])
    said: list[str] = []
    # By the real clock, all rows are older than a day.
    with AuditWriter(gate.as_store(), keep_s=86_400.0, say=said.append):
        until(lambda: len(said) == 2)
    assert written(gate.store) == [2, 3]
    assert said[0].startswith("audit: the newest row is of 2026-09-21T")
    assert said[1] == "audit: 1 rows older than 1d were removed"


def test_a_clock_that_jumps_while_the_server_runs_removes_nothing(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.audit.writer.PRUNE_EVERY_S", 0.0)
    clock = [NOON_US]
    monkeypatch.setattr("faultkit.audit.writer.now_us", lambda: clock[0])
    gate.store.append([entry(1)])
    asked = threading.Semaphore(0)
    usual = gate.store.prune

    def prune(older_than_us: int) -> int:
        asked.release()
        return usual(older_than_us)

    gate.prune = prune  # type: ignore[method-assign]
    with AuditWriter(gate.as_store(), keep_s=86_400.0):
        assert asked.acquire(timeout=PATIENCE_S)
        clock[0] += 40 * 86_400_000_000
        for _ in range(3):
            assert asked.acquire(timeout=PATIENCE_S)
    assert written(gate.store) == [1]


def test_a_locked_database_gets_its_rows_when_the_lock_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.audit.log_file.BUSY_S", 0.02)
    path = tmp_path / "audit.db"
    with open_store(path) as store, AuditWriter(store, flush_s=0.0) as writer:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        for number in range(30):
            writer.add(entry(number))
        until(lambda: "database is locked" in writer.state().away)
        other.execute("ROLLBACK")
        other.close()
        assert writer.flush(PATIENCE_S)
        assert writer.state() == WriterState(written=30)
        assert written(store) == list(range(30))


def test_a_full_disk_makes_rows_wait(tmp_path: Path) -> None:
    with open_store(tmp_path / "audit.db") as store, AuditWriter(store, flush_s=0.0) as writer:
        # The pool reuses its one connection.
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=12")
        for number in range(30):
            writer.add(entry(number, error_message="x" * 4000))
        until(lambda: "full" in writer.state().away)
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        assert writer.flush(PATIENCE_S)
        assert written(store) == list(range(30))


def test_a_postgresql_server_gets_pending_rows_after_a_restart(postgres: Postgres) -> None:
    with open_store(postgres.url) as store, AuditWriter(store, flush_s=0.0) as writer:
        writer.add(entry(0))
        assert writer.flush(PATIENCE_S)
        postgres.stop()
        try:
            for number in range(1, 50):
                writer.add(entry(number))
            until(lambda: writer.state().away != "")
        finally:
            postgres.start()
        assert writer.flush(3 * PATIENCE_S)
        assert writer.state() == WriterState(written=50)
        assert written(store) == list(range(50))


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def test_fifty_thousand_rows_at_full_speed_are_all_there_and_in_order(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = tmp_path / "audit.db" if kind == "sqlite" else request.getfixturevalue("postgres").url
    with open_store(where) as store:
        with AuditWriter(store) as writer:
            for number in range(50_000):
                writer.add(entry(number))
            assert writer.flush(60)
            assert writer.state() == WriterState(written=50_000)
        assert written(store) == list(range(50_000))


_KILLED = """
import sys, threading
from time import monotonic
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter
from tests.audit.rows import entry

writer = AuditWriter(open_store(sys.argv[1]))
pause = threading.Event()
for number in range(1_000_000):
    writer.add(entry(number))
    if number % 10 == 0:
        print(number, monotonic(), writer.state().written, flush=True)
        pause.wait(0.01)
"""


def test_a_process_that_is_killed_loses_its_last_moments_only_and_tears_nothing(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    folder = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(path)],
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}"},
        text=True,
    )
    assert process.stdout is not None
    told: list[tuple[int, float, int]] = []
    # Two seconds after the first write: ten intervals, so that a slow writer would lose many rows.
    more = 200
    try:
        for line in process.stdout:
            number, at_s, count = line.split()
            told.append((int(number), float(at_s), int(count)))
            more -= int(count) >= 200
            if more == 0:
                break
    finally:
        os.kill(process.pid, signal.SIGKILL)
        rest, _ = process.communicate()
    for line in rest.splitlines():
        if len(parts := line.split()) == 3:
            told.append((int(parts[0]), float(parts[1]), int(parts[2])))
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    with open_store(path, create=False) as store:
        found = written(store)
        rows = list(store.all())
        assert all(
            store.get(row.id) == AuditEntry(row, entry(n).payload) for n, row in list(enumerate(rows))[-50:]
        )
    assert found == list(range(len(found)))
    assert len(found) >= told[-1][2]
    last_s = told[-1][1]
    missing = [at_s for number, at_s, _ in told if number >= len(found)]
    # The interval, and the time to write a batch on a busy machine.
    assert all(last_s - at_s <= FLUSH_S + 1.0 for at_s in missing)
