"""The live stream of the audit log, as server-sent events.

One task polls the store for new rows while there are readers. Each reader has its own position and filter. A
reader that is too slow misses rows, and gets an event with their number.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from faultkit.audit.filter import Filter
from faultkit.audit.row import AuditRow, row_document
from faultkit.audit.store import Store
from faultkit.base.errors import RunError
from faultkit.base.http.http_exchange import ResponseWriter
from faultkit.web.metrics import Metrics
from faultkit.web.routing import SAFETY, HttpError

POLL_S = 0.25
KEEPALIVE_S = 15.0
PATIENCE_S = 2.0
"""Time without progress after which rows are dropped for a reader."""
MOST_UNREAD_BYTES = 256 << 10
"""Bytes sent to one reader and not yet read, above which the stream waits for it."""
MOST_READERS = 64
_PAGE = 200
_HEAD = [("content-type", "text/event-stream; charset=utf-8"), ("x-accel-buffering", "no"), *SAFETY]
_CONNECTED = b": connected\n\n"
_KEEPALIVE = b": keepalive\n\n"
T = TypeVar("T")


class LiveStream:
    """The readers of one store. It belongs to one event loop."""

    def __init__(self, store: Store, metrics: Metrics, threads: Executor) -> None:
        self._store = store
        self._metrics = metrics
        self._threads = threads
        self._newest = 0
        self._away = ""
        self._changed = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None
        self._answers: set[ResponseWriter] = set()

    async def follow(self, answer: ResponseWriter, filter: Filter, after: int | None) -> None:
        """Send rows to a client until it disconnects. `after`: position to start from; None for the end."""
        if len(self._answers) >= MOST_READERS:
            raise HttpError(503, f"expected at most {MOST_READERS} readers of the live stream, got one more")
        # Before the first await, since other readers may arrive meanwhile.
        self._answers.add(answer)
        self._metrics.live_readers = len(self._answers)
        try:
            newest = await self._in_thread(self._store.last_seq)
            self._newest = max(self._newest, newest)
            if self._polling is None:
                self._polling = asyncio.get_running_loop().create_task(self._poll())
            answer.begin(200, _HEAD, _CONNECTED)
            answer.on_disconnect(self._wake)
            # A position beyond the newest row belongs to an earlier log that was replaced.
            seen = newest if after is None else min(after, newest)
            await _Reader(answer, filter, seen).read(self)
        finally:
            self._answers.discard(answer)
            self._metrics.live_readers = len(self._answers)

    async def close(self) -> None:
        """End all streams."""
        for answer in tuple(self._answers):
            if answer.began:
                answer.end()
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.wait({self._polling})
        self._wake()

    async def _poll(self) -> None:
        while self._answers:
            try:
                newest = await self._in_thread(self._store.last_seq)
            except Exception as error:
                # Any error: the task must go on, since the next query may succeed.
                self._update(self._newest, str(error) or type(error).__name__)
            else:
                self._update(newest, "")
            await asyncio.sleep(POLL_S)
        self._polling = None

    def _update(self, newest: int, away: str) -> None:
        if (newest, away) != (self._newest, self._away):
            self._newest, self._away = newest, away
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # Used by readers.

    @property
    def newest(self) -> int:
        return self._newest

    @property
    def away(self) -> str:
        return self._away

    async def change(self, within_s: float) -> bool:
        """Wait for a change of the log; return False if there is none within that time."""
        try:
            await asyncio.wait_for(self._changed.wait(), within_s)
        except TimeoutError:
            return False
        return True

    def rows(self, after: int, filter: Filter) -> Awaitable[tuple[AuditRow, ...]]:
        return self._in_thread(lambda: self._store.after(after, filter, _PAGE))

    def count(self, after: int, to: int, filter: Filter) -> Awaitable[int]:
        return self._in_thread(lambda: self._store.count(after, to, filter))

    def dropped(self, count: int) -> None:
        self._metrics.live_dropped += count

    def _in_thread(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)


class _Reader:
    def __init__(self, answer: ResponseWriter, filter: Filter, seen: int) -> None:
        self._answer = answer
        self._filter = filter
        self._seen = seen
        self._missed = 0
        self._sent_away = ""

    async def read(self, live: LiveStream) -> None:
        while self._answer.is_open:
            try:
                await self._catch_up(live)
                why = live.away
            except RunError as error:
                why = str(error)
            self._send_state(why)
            if self._seen < live.newest and not why:
                continue
            # Check again soon if rows were dropped, or if only this reader noticed the failure.
            soon = self._missed or (why and not live.away)
            if not await live.change(POLL_S if soon else KEEPALIVE_S) and not soon:
                self._answer.write(_KEEPALIVE)

    async def _catch_up(self, live: LiveStream) -> None:
        """Send all rows up to the newest one. A reader that is too slow misses the rest."""
        if not await self._is_ready(live):
            return
        newest = live.newest
        # The newest rows may have been removed, or the log replaced.
        self._seen = min(self._seen, newest)
        while self._seen < newest and self._answer.is_open:
            page = await live.rows(self._seen, self._filter)
            self._send_state("")
            for row in page:
                if not await self._is_ready(live):
                    return
                self._answer.write(_event("audit", row_document(row), row.seq))
                self._seen = row.seq
            if not page:
                self._seen = max(self._seen, newest)

    async def _is_ready(self, live: LiveStream) -> bool:
        if self._is_slow():
            try:
                await asyncio.wait_for(self._answer.drained(), PATIENCE_S)
            except TimeoutError:
                await self._miss(live)
                return False
        if self._missed:
            self._answer.write(_event("dropped", {"count": self._missed}))
            self._missed = 0
        return True

    def _is_slow(self) -> bool:
        return self._answer.unread_bytes > MOST_UNREAD_BYTES

    async def _miss(self, live: LiveStream) -> None:
        newest = live.newest
        if newest > self._seen:
            count = await live.count(self._seen, newest, self._filter)
            self._missed += count
            self._seen = newest
            live.dropped(count)

    def _send_state(self, why: str) -> None:
        if bool(why) != bool(self._sent_away) and not self._is_slow():
            self._answer.write(_event("away", {"error": why}) if why else _event("back", {}))
            self._sent_away = why


def _event(name: str, document: dict[str, Any], id: int | None = None) -> bytes:
    data = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")
