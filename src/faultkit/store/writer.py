"""Writes rows behind the calls: in order, in batches, in a thread of its own.

A row begins to be written `FLUSH_S` after its call at the latest, unless the database is slower than calls
come. A process that is killed loses no more than that. What cannot be written is counted, never silently.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal, Self, TypeAlias

from faultkit.errors import RunError
from faultkit.store.row import Entry
from faultkit.store.store import Store, StoreAway
from faultkit.store.times import now_us

FLUSH_S = 0.2
BATCH = 1000
MOST_WAITING = 20_000
"""Rows that wait to be written, those of the batch at hand included."""
BLOCK_S = 5.0
"""How long a caller waits for room before the database counts as away, though it has not said so."""
CLOSE_S = 5.0
"""How long the end waits for a database that is away."""
PRUNE_EVERY_S = 3600.0
_GRACE_S = 10.0
"""For the attempt that is being made when the time is over: databases have limits of their own."""
_PATIENCE_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Between attempts to reach a database that is away."""

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
        flush_s: float = FLUSH_S,
        block_s: float = BLOCK_S,
        keep_s: float | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`keep_s`: rows of older calls are removed, at the start and every hour. `say`: is told, in the
        thread of the writer, when the database goes away and comes back."""
        self._store = store
        self._policy = policy
        self._most_waiting = most_waiting
        self._flush_s = flush_s
        self._block_s = block_s
        self._keep_s = keep_s
        self._say = say
        self._changed = threading.Condition()
        self._queue: deque[Entry] = deque()
        self._at_hand = 0
        self._written = self._dropped = self._refused = 0
        self._away = ""
        self._hurry = False
        self._closing_until_s: float | None = None
        self._prune_at_s = 0.0
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._thread.start()

    def add(self, entry: Entry) -> None:
        """From any thread."""
        with self._changed:
            if self._closing_until_s is not None or not self._has_room():
                self._dropped += 1
                return
            self._queue.append(entry)
            # It sleeps until there is a row, and then until there are enough: no need to wake it for others.
            if len(self._queue) in (1, BATCH):
                self._changed.notify_all()

    def miss(self, why: str) -> None:
        """A call of which no row could be made."""
        with self._changed:
            self._refused += 1
        self._say(f"audit: no row could be made of a call: {why}")

    def state(self) -> Written:
        with self._changed:
            return Written(self._written, self._waiting(), self._dropped, self._refused, self._away)

    def flush(self, within_s: float = CLOSE_S) -> bool:
        """Until all that was added is written; False if that takes too long."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._waiting() == 0, within_s)

    def close(self, within_s: float = CLOSE_S) -> Written:
        """Writes what waits. What cannot be written within that time is lost, and counted; what a database
        that does not answer may yet take or not is still `waiting`."""
        with self._changed:
            if self._closing_until_s is None:
                self._closing_until_s = monotonic() + within_s
            self._changed.notify_all()
        self._thread.join(within_s + _GRACE_S)
        return self.state()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _waiting(self) -> int:
        return len(self._queue) + self._at_hand

    def _has_room(self) -> bool:
        if self._waiting() < self._most_waiting:
            return True
        if self._policy == "drop":
            return False
        self._hurry = True
        self._changed.notify_all()
        ended = self._changed.wait_for(
            lambda: self._waiting() < self._most_waiting or self._away or self._closing_until_s is not None,
            self._block_s,
        )
        if not ended:
            self._away = f"{self._store.name}: no row was taken for {self._block_s:g} s"
        return self._waiting() < self._most_waiting and self._closing_until_s is None

    def _run(self) -> None:
        while True:
            self._prune()
            batch = self._next()
            if batch is None:
                return
            if batch:
                self._write(batch)

    def _next(self) -> list[Entry] | None:
        """A batch, when it is due; empty if something else is. None: it is over."""
        with self._changed:
            if not self._queue and self._closing_until_s is None:
                self._changed.wait(self._until_prune_s())
            if not self._queue:
                return [] if self._closing_until_s is None else None
            due_s = monotonic() + self._flush_s
            while not self._is_due() and (left_s := due_s - monotonic()) > 0:
                self._changed.wait(left_s)
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            self._at_hand = len(batch)
            return batch

    def _is_due(self) -> bool:
        return len(self._queue) >= BATCH or self._hurry or self._closing_until_s is not None

    def _write(self, batch: list[Entry]) -> None:
        attempt = 0
        while True:
            try:
                refused = self._append(batch)
            except StoreAway as error:
                if not self._wait_for_database(str(error), attempt):
                    self._give_up()
                    return
                attempt += 1
            else:
                self._settle(written=len(batch) - refused, refused=refused)
                return

    def _append(self, batch: list[Entry]) -> int:
        """How many the database would not have: one bad row must not take the others with it."""
        try:
            self._store.append(batch)
            return 0
        except StoreAway:
            raise
        except Exception as error:
            # Whatever it is: nobody but us writes rows, and we must not stop.
            if len(batch) == 1:
                self._say(f"audit: a row was refused: {error}")
                return 1
            half = len(batch) // 2
            return self._append(batch[:half]) + self._append(batch[half:])

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
            self._dropped += self._waiting()
            self._queue.clear()
            self._at_hand = 0
            self._changed.notify_all()

    def _settle(self, *, written: int = 0, refused: int = 0) -> None:
        with self._changed:
            back = bool(self._away) and written > 0
            if written:
                self._away = ""
            self._written += written
            self._refused += refused
            self._at_hand = 0
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
