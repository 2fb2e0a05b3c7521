"""The writer of the audit log: builds and inserts rows in a background thread, in order and in batches.

Rows are built in batches because that takes half the time of building one between two calls; a busy server
uses a child process (`row_process`). Writing starts at most `FLUSH_S` after a call, unless the database is
slower than the calls; a killed process loses no more than that. Rows that cannot be written are counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, Self, TypeAlias

from faultkit.audit.row import AuditEntry
from faultkit.audit.row_process import PendingRow, RowBuilder, RowProcess, RowProcessEnded, build_entries
from faultkit.audit.store import Store, StoreRefused, StoreUnavailable
from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text
from faultkit.base.units import format_duration

FLUSH_S = 0.2
BATCH = 1000
MOST_BEHIND = 2 * BATCH
"""Pending rows, including the current batch, above which callers are slowed. A killed process can lose this
many rows beyond its last interval."""
MOST_WAITING = 20_000
"""Limit of pending rows while the database is unavailable; further rows are dropped."""
MOST_WAITING_BYTES = 128 << 20
"""Limit of the memory of pending rows."""
BATCH_BYTES = 8 << 20
BLOCK_S = 5.0
"""Time that a caller waits for room before the database counts as unavailable."""
CLOSE_S = 5.0
"""Time that `close` waits for an unavailable database."""
PRUNE_EVERY_S = 3600.0
_GRACE_S = 10.0
"""Additional time for the attempt that is running then: databases have their own timeouts."""
_RETRY_PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Pauses between attempts to reach an unavailable database."""

_ROW_BYTES = 3072
"""Approximate memory of a row without its payload."""

Policy: TypeAlias = Literal["block", "drop"]
POLICIES: tuple[Policy, ...] = ("block", "drop")


@dataclass(frozen=True, slots=True)
class WriterState:
    """Counters and state of the writer."""

    written: int = 0
    waiting: int = 0
    dropped: int = 0
    """Rows dropped because the queue was full."""
    refused: int = 0
    """Rows that could not be built, or that the database refused."""
    away: str = ""
    """Why the database is unavailable; empty if it is available."""
    replaced: int = 0
    """Number of times that the file of the log was replaced. Earlier rows are not in the new file."""

    @property
    def lost(self) -> int:
        """Number of rows that will not be written."""
        return self.dropped + self.refused


class AuditWriter:
    """Queue and thread that write rows to a store.

    Policy `block`: if the queue is full, the caller waits while the database makes progress. Policy
    `drop`: the row is dropped and counted. While the database is unavailable, rows are dropped with
    either policy: calls never wait for a database that may not come back."""

    def __init__(
        self,
        store: Store,
        *,
        policy: Policy = "block",
        most_waiting: int = MOST_WAITING,
        most_bytes: int = MOST_WAITING_BYTES,
        flush_s: float = FLUSH_S,
        block_s: float = BLOCK_S,
        keep_s: float | None = None,
        say: Callable[[str], None] = lambda line: None,
        process: RowProcess | None = None,
    ) -> None:
        """`process` takes large batches; it is closed with the writer. `keep_s`: age from which rows are
        removed, at the start and every hour. `say`: receives one line, in the writer's thread, when the
        database becomes unavailable or available."""
        self._store = store
        self._policy = policy
        self._most_waiting = most_waiting
        self._most_behind = most_waiting if policy == "drop" else min(MOST_BEHIND, most_waiting)
        self._most_bytes = most_bytes
        self._behind_bytes = most_bytes // 2
        self._flush_s = flush_s
        self._block_s = block_s
        self._keep_s = keep_s
        self._say = say
        self._process = process
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[tuple[RowBuilder, Any, int]] = deque()
        self._waiting = self._at_hand = 0
        """Rows of the current batch are included in `_waiting`."""
        self._bytes = self._bytes_at_hand = 0
        self._written = self._dropped = self._refused = 0
        self._away = ""
        self._hurry = False
        self._closing_until_s: float | None = None
        self._prune_at_s = 0.0
        self._newest_us: int | None = None
        """Time of the newest row when rows were first removed, and the monotonic time then."""
        self._since_s = 0.0
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._thread.start()

    def add(self, entry: AuditEntry, *, wait: bool = True) -> None:
        """Add an entry, from any thread. `wait`: block here if callers are to be slowed. An event loop passes
        False and checks `is_behind` before it accepts the next call."""
        self.add_later(_unchanged, entry, _bytes_of(entry), wait=wait)

    def add_later(self, build: RowBuilder, source: Any, held_bytes: int, *, wait: bool = True) -> None:
        """Add an entry that the writer builds with `build(source)`. Building it twice must give the same row.
        `held_bytes`: memory that it occupies until then."""
        # The lock itself, since Condition is implemented in Python and slower: this runs for each call.
        with self._lock:
            is_full = self._waiting >= self._most_behind or self._bytes >= self._most_bytes
            if (is_full or self._closing_until_s is not None) and not self._has_room(wait):
                self._dropped += 1
                return
            self._queue.append((build, source, held_bytes))
            self._waiting += 1
            self._bytes += held_bytes
            # The thread waits for the first row, then for a full batch; it needs no other wake-up.
            if len(self._queue) == 1 or len(self._queue) == BATCH:
                self._changed.notify_all()

    @property
    def is_behind(self) -> bool:
        """True if callers should be slowed. Read without the lock, since it is an estimate and each call
        reads it."""
        return (
            (self._waiting >= self._most_behind or self._bytes >= self._behind_bytes)
            and self._policy == "block"
            and not self._away
            and self._closing_until_s is None
        )

    @property
    def block_s(self) -> float:
        """Time that callers are slowed before `wait_no_more` is called."""
        return self._block_s

    def wait_no_more(self) -> None:
        """Treat the database as unavailable until it takes a row."""
        with self._changed:
            self._away = self._away or f"{self._store.name}: no row was taken for {self._block_s:g} s"

    def miss(self, why: Exception) -> None:
        """Count a call whose row could not be built."""
        self._miss([f"{type(why).__name__}: {why}"])

    def _miss(self, whys: Sequence[str]) -> None:
        with self._changed:
            self._refused += len(whys)
        for why in whys:
            self._say(f"audit: no row could be made of a call: {why}")

    def state(self) -> WriterState:
        """Return the counters."""
        with self._changed:
            counts = (self._written, self._waiting, self._dropped, self._refused)
            return WriterState(*counts, self._away, self._store.changes)

    def flush(self, within_s: float = CLOSE_S) -> bool:
        """Wait until all rows are written; return False on timeout."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._waiting == 0, within_s)

    def close(self, within_s: float = CLOSE_S) -> WriterState:
        """Write the pending rows and stop. Rows that cannot be written in time are counted as lost; those
        of an attempt without an answer stay `waiting`."""
        with self._changed:
            if self._closing_until_s is None:
                self._closing_until_s = monotonic() + within_s
            self._changed.notify_all()
        self._thread.join(within_s + _GRACE_S)
        if self._process is not None:
            self._process.close()
        return self.state()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _is_full(self, wait: bool) -> bool:
        # Callers do not wait for an unavailable database; the longer queue is used instead.
        most = self._most_waiting if self._away or not wait else self._most_behind
        return self._waiting >= most or self._bytes >= self._most_bytes

    def _has_room(self, wait: bool) -> bool:
        """Return whether a row can be queued, after waiting if the policy says so."""
        if not self._hurry:
            self._hurry = True
            self._changed.notify_all()
        if wait and self._policy == "block" and self._closing_until_s is None and self._is_full(wait):
            ended = self._changed.wait_for(
                lambda: not self._is_full(wait) or self._away or self._closing_until_s is not None,
                self._block_s,
            )
            if not ended:
                self._away = f"{self._store.name}: no row was taken for {self._block_s:g} s"
        return not self._is_full(wait) and self._closing_until_s is None

    def _run(self) -> None:
        while True:
            self._prune()
            batch = self._next()
            if batch is None:
                return
            if batch:
                self._write(batch)

    def _next(self) -> list[PendingRow] | None:
        """Return the next batch when it is due; an empty one for pruning; None to stop."""
        with self._changed:
            if not self._queue and self._closing_until_s is None:
                self._changed.wait(self._until_prune_s())
            if not self._queue:
                return [] if self._closing_until_s is None else None
            due_s = monotonic() + self._flush_s
            while not self._is_due() and (left_s := due_s - monotonic()) > 0:
                self._changed.wait(left_s)
            batch: list[PendingRow] = []
            self._bytes_at_hand = 0
            while self._queue and len(batch) < BATCH and self._bytes_at_hand < BATCH_BYTES:
                build, source, held_bytes = self._queue.popleft()
                batch.append((build, source))
                self._bytes_at_hand += held_bytes
            self._at_hand = len(batch)
            return batch

    def _is_due(self) -> bool:
        return len(self._queue) >= BATCH or self._hurry or self._closing_until_s is not None

    def _write(self, batch: list[PendingRow]) -> None:
        attempt = 0
        while True:
            try:
                missed, refused = self._append(batch)
            except StoreUnavailable as error:
                if not self._wait_for_database(str(error), attempt):
                    self._give_up()
                    return
                attempt += 1
            else:
                self._miss(missed)
                self._settle(written=len(batch) - len(missed) - refused, refused=refused)
                return

    def _append(self, batch: list[PendingRow]) -> tuple[list[str], int]:
        """Write a batch; return the errors of rows that could not be built, and the number of refused
        rows."""
        if self._process is not None and self._process.takes(batch):
            # The child process cannot report that the database file was replaced, so check here.
            self._store.check()
            # After an error the batch is written again below; existing rows are skipped.
            with suppress(StoreRefused, RowProcessEnded):
                return self._process.append(batch), 0
        entries, missed = build_entries(batch)
        return missed, self._insert(entries)

    def _insert(self, entries: list[AuditEntry]) -> int:
        """Insert entries and return the number of refused ones, found by halving the batch."""
        try:
            self._store.append(entries)
            return 0
        except StoreUnavailable:
            raise
        except Exception as error:
            # Any error: the writer thread must not end.
            if len(entries) == 1:
                self._say(f"audit: a row was refused: {error}")
                return 1
            half = len(entries) // 2
            return self._insert(entries[:half]) + self._insert(entries[half:])

    def _wait_for_database(self, why: str, attempt: int) -> bool:
        """Wait before the next attempt; return False if there is no time left."""
        if attempt == 0:
            self._say(f"audit: rows wait for the database: {why}")
        with self._changed:
            self._away = why
            self._changed.notify_all()
            pause_s = _RETRY_PAUSES_S[min(attempt, len(_RETRY_PAUSES_S) - 1)]
            if self._closing_until_s is None:
                self._changed.wait_for(lambda: self._closing_until_s is not None, pause_s)
                return True
            left_s = self._closing_until_s - monotonic()
            if left_s > 0:
                self._changed.wait_for(lambda: False, min(pause_s, left_s))
            return left_s > 0

    def _give_up(self) -> None:
        with self._changed:
            self._dropped += self._waiting
            self._queue.clear()
            self._waiting = self._at_hand = self._bytes = 0
            self._changed.notify_all()

    def _settle(self, *, written: int, refused: int) -> None:
        with self._changed:
            back = bool(self._away) and written > 0
            if written:
                self._away = ""
            self._written += written
            self._refused += refused
            self._waiting -= self._at_hand
            self._at_hand = 0
            self._bytes -= self._bytes_at_hand
            if not self._queue:
                self._hurry = False
            self._changed.notify_all()
        if back:
            self._say("audit: the database is back, and rows are written")

    def _until_prune_s(self) -> float | None:
        return None if self._keep_s is None else max(0.0, self._prune_at_s - monotonic())

    def _prune(self) -> None:
        if self._keep_s is None or monotonic() < self._prune_at_s:
            return
        self._prune_at_s = monotonic() + PRUNE_EVERY_S
        try:
            removed = self._store.prune(self._checked_now_us() - round(self._keep_s * 1e6))
        except RunError as error:
            self._say(f"audit: old rows were not removed: {error}")
            return
        if removed:
            self._say(f"audit: {removed} rows older than {format_duration(self._keep_s)} were removed")

    def _checked_now_us(self) -> int:
        """Return the time, but not one that the rows do not bear out: a clock that is wrong must not remove
        the whole log.

        Ages are counted from the newest row that was there at the start, and from then on by a clock that
        cannot be set."""
        now = now_us()
        if self._newest_us is None:
            self._newest_us, self._since_s = self._store.newest_us(), monotonic()
            if self._newest_us is not None and now - self._newest_us > (self._keep_s or 0.0) * 1e6:
                self._say(
                    f"audit: the newest row is of {time_text(self._newest_us)[:19]}Z: in case the clock is "
                    "wrong, ages count from it; `fault audit prune` removes rows by the clock"
                )
        if self._newest_us is None:
            return now
        return min(now, self._newest_us + round((monotonic() - self._since_s) * 1e6))


def _unchanged(entry: AuditEntry) -> AuditEntry:
    """Return the entry: the builder of one that is already built."""
    return entry


def _bytes_of(entry: AuditEntry) -> int:
    """Return the approximate bytes held in memory. Truncated payloads count as 0."""
    payload = entry.payload
    if payload is None:
        return _ROW_BYTES
    request = 0 if payload.request_truncated else 2 * payload.request_size_bytes
    response = 0 if payload.response_truncated else payload.response_size_bytes
    return _ROW_BYTES + request + response + len(payload.notifications or "")
