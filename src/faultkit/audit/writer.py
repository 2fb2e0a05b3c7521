"""Writes rows behind the calls: in order, in batches, in a thread of its own.

Rows are made behind the calls as well, many at a time, which takes half as long as one between two calls; a
busy server has a process for that. A row begins to be written `FLUSH_S` after its call at the latest, unless
the database is slower than calls come. A process that is killed loses no more than that. What cannot be
written is counted, never silently.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, Self, TypeAlias

from faultkit.audit.apart import Apart, Gone, Make, Unmade, made
from faultkit.audit.row import Entry
from faultkit.audit.store import Store, StoreAway, StoreRefused
from faultkit.base.errors import RunError
from faultkit.base.times import now_us

FLUSH_S = 0.2
BATCH = 1000
MOST_BEHIND = 2 * BATCH
"""Rows that wait before callers are slowed, those of the batch at hand included: as many as a killed process
can lose beyond its last interval."""
MOST_WAITING = 20_000
"""Rows that wait for a database that is away, or before rows are dropped."""
MOST_WAITING_BYTES = 128 << 20
"""What these take."""
BATCH_BYTES = 8 << 20
BLOCK_S = 5.0
"""How long a caller waits for room before the database counts as away, though it has not said so."""
CLOSE_S = 5.0
"""How long the end waits for a database that is away."""
PRUNE_EVERY_S = 3600.0
_GRACE_S = 10.0
"""For the attempt that is being made when the time is over: databases have limits of their own."""
_PATIENCE_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Between attempts to reach a database that is away."""

_ROW_BYTES = 3072
"""What a row takes besides what was said."""

Policy: TypeAlias = Literal["block", "drop"]
POLICIES: tuple[Policy, ...] = ("block", "drop")


@dataclass(frozen=True, slots=True)
class Written:
    """How it stands."""

    written: int = 0
    waiting: int = 0
    dropped: int = 0
    """There was no room for them."""
    refused: int = 0
    """They could not be made, or the database would not have them."""
    away: str = ""
    """Why the database cannot be had just now."""
    replaced: int = 0
    """How often another file was in the place of the log. What the former held by then is not in it."""

    @property
    def lost(self) -> int:
        return self.dropped + self.refused


class Writer:
    """`block`: a caller for whose row there is no room waits until there is, as long as the database takes
    rows at all. `drop`: calls go on, and the row is counted. So are rows for which there is no room while the
    database is away, whatever the policy: calls never wait for a database that may not come back."""

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
        apart: Apart | None = None,
    ) -> None:
        """`apart`: makes rows and writes them in our stead when there are many; it ends with the writer.
        `keep_s`: rows of older calls are removed, at the start and every hour. `say`: is told, in the
        thread of the writer, when the database goes away and comes back."""
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
        self._apart = apart
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[tuple[Make, Any, int]] = deque()
        self._waiting = self._at_hand = 0
        """Those at hand wait as well."""
        self._bytes = self._bytes_at_hand = 0
        self._written = self._dropped = self._refused = 0
        self._away = ""
        self._hurry = False
        self._closing_until_s: float | None = None
        self._prune_at_s = 0.0
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._thread.start()

    def add(self, entry: Entry, *, wait: bool = True) -> None:
        """From any thread. `wait`: if callers are to be slowed, here and now. Who cannot wait has to look at
        `is_behind` before the next call: their rows are taken beyond that, as long as there is room."""
        self.add_later(_itself, entry, _bytes_of(entry), wait=wait)

    def add_later(self, make: Make, known: Any, held_bytes: int, *, wait: bool = True) -> None:
        """As `add`, of a row that is still to be made, of what is known. What is made twice of the same has
        to be the same row. `held_bytes`: what is kept in memory for it."""
        # Not the condition, which is written in Python: all calls come by here.
        with self._lock:
            is_full = self._waiting >= self._most_behind or self._bytes >= self._most_bytes
            if (is_full or self._closing_until_s is not None) and not self._has_room(wait):
                self._dropped += 1
                return
            self._queue.append((make, known, held_bytes))
            self._waiting += 1
            self._bytes += held_bytes
            # It sleeps until there is a row, and then until there are enough: no need to wake it for others.
            if len(self._queue) == 1 or len(self._queue) == BATCH:
                self._changed.notify_all()

    @property
    def is_behind(self) -> bool:
        """Callers should be slowed. Asked with each call, and so without the lock: it is a matter of degree
        anyway."""
        return (
            (self._waiting >= self._most_behind or self._bytes >= self._behind_bytes)
            and self._policy == "block"
            and not self._away
            and self._closing_until_s is None
        )

    @property
    def block_s(self) -> float:
        """How long callers are slowed before `wait_no_more`."""
        return self._block_s

    def wait_no_more(self) -> None:
        """The database counts as away, though it has not said so, until it takes a row."""
        with self._changed:
            self._away = self._away or f"{self._store.name}: no row was taken for {self._block_s:g} s"

    def miss(self, why: Exception) -> None:
        """A call of which no row could be made."""
        self._miss([f"{type(why).__name__}: {why}"])

    def _miss(self, whys: Sequence[str]) -> None:
        with self._changed:
            self._refused += len(whys)
        for why in whys:
            self._say(f"audit: no row could be made of a call: {why}")

    def state(self) -> Written:
        with self._changed:
            known = (self._written, self._waiting, self._dropped, self._refused, self._away)
            return Written(*known, self._store.changes)

    def flush(self, within_s: float = CLOSE_S) -> bool:
        """Until all that was added is written; False if that takes too long."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._waiting == 0, within_s)

    def close(self, within_s: float = CLOSE_S) -> Written:
        """Writes what waits. What cannot be written within that time is lost, and counted; what a database
        that does not answer may yet take or not is still `waiting`."""
        with self._changed:
            if self._closing_until_s is None:
                self._closing_until_s = monotonic() + within_s
            self._changed.notify_all()
        self._thread.join(within_s + _GRACE_S)
        if self._apart is not None:
            self._apart.close()
        return self.state()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _is_full(self, wait: bool) -> bool:
        # Nobody waits for a database that may not come back: then, rows do.
        most = self._most_waiting if self._away or not wait else self._most_behind
        return self._waiting >= most or self._bytes >= self._most_bytes

    def _has_room(self, wait: bool) -> bool:
        """Where there may be none, or when it is over."""
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

    def _next(self) -> list[Unmade] | None:
        """A batch, when it is due; empty if something else is. None: it is over."""
        with self._changed:
            if not self._queue and self._closing_until_s is None:
                self._changed.wait(self._until_prune_s())
            if not self._queue:
                return [] if self._closing_until_s is None else None
            due_s = monotonic() + self._flush_s
            while not self._is_due() and (left_s := due_s - monotonic()) > 0:
                self._changed.wait(left_s)
            batch: list[Unmade] = []
            self._bytes_at_hand = 0
            while self._queue and len(batch) < BATCH and self._bytes_at_hand < BATCH_BYTES:
                make, known, held_bytes = self._queue.popleft()
                batch.append((make, known))
                self._bytes_at_hand += held_bytes
            self._at_hand = len(batch)
            return batch

    def _is_due(self) -> bool:
        return len(self._queue) >= BATCH or self._hurry or self._closing_until_s is not None

    def _write(self, batch: list[Unmade]) -> None:
        attempt = 0
        while True:
            try:
                missed, refused = self._append(batch)
            except StoreAway as error:
                if not self._wait_for_database(str(error), attempt):
                    self._give_up()
                    return
                attempt += 1
            else:
                self._miss(missed)
                self._settle(written=len(batch) - len(missed) - refused, refused=refused)
                return

    def _append(self, batch: list[Unmade]) -> tuple[list[str], int]:
        """Why no row could be made of some, and how many rows the database would not have."""
        if self._apart is not None and self._apart.takes(batch):
            # It has no voice of its own, should there be another file by now.
            self._store.check()
            # To write again what was written changes nothing.
            with suppress(StoreRefused, Gone):
                return self._apart.append(batch), 0
        entries, missed = made(batch)
        return missed, self._insert(entries)

    def _insert(self, entries: list[Entry]) -> int:
        """How many the database would not have: one bad row must not take the others with it."""
        try:
            self._store.append(entries)
            return 0
        except StoreAway:
            raise
        except Exception as error:
            # Whatever it is: nobody but us writes rows, and we must not stop.
            if len(entries) == 1:
                self._say(f"audit: a row was refused: {error}")
                return 1
            half = len(entries) // 2
            return self._insert(entries[:half]) + self._insert(entries[half:])

    def _wait_for_database(self, why: str, attempt: int) -> bool:
        """False: there is no time left for that."""
        if attempt == 0:
            self._say(f"audit: rows wait for the database: {why}")
        with self._changed:
            self._away = why
            self._changed.notify_all()
            pause_s = _PATIENCE_S[min(attempt, len(_PATIENCE_S) - 1)]
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
            self._store.prune(now_us() - round(self._keep_s * 1e6))
        except RunError as error:
            self._say(f"audit: old rows were not removed: {error}")


def _itself(entry: Entry) -> Entry:
    return entry


def _bytes_of(entry: Entry) -> int:
    """Nearly. What is too long to be kept is none of it."""
    said = entry.payload
    if said is None:
        return _ROW_BYTES
    request = 0 if said.request_truncated else 2 * said.request_size_bytes
    response = 0 if said.response_truncated else said.response_size_bytes
    return _ROW_BYTES + request + response + len(said.notifications or "")
