"""The log as it grows, for those who follow it: server-sent events.

One task looks for new rows, as long as anybody follows. Each reader has a place in the log and a filter of
their own. Who takes nothing for a while misses rows, and is told how many.
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
from faultkit.base.http.server import Answer
from faultkit.web.metrics import Metrics
from faultkit.web.reply import SAFETY, Refused

LOOK_S = 0.25
KEEPALIVE_S = 15.0
PATIENCE_S = 2.0
"""How long a reader may take nothing before rows are dropped for them."""
MOST_UNREAD_BYTES = 256 << 10
"""Of one reader: when so much has been sent and not been read, we wait for them."""
MOST_READERS = 64
_PAGE = 200
_HEAD = [("content-type", "text/event-stream; charset=utf-8"), ("x-accel-buffering", "no"), *SAFETY]
_CONNECTED = b": connected\n\n"
_KEEPALIVE = b": keepalive\n\n"
T = TypeVar("T")


class Live:
    """For one event loop."""

    def __init__(self, store: Store, metrics: Metrics, threads: Executor) -> None:
        self._store = store
        self._metrics = metrics
        self._threads = threads
        self._newest = 0
        self._away = ""
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._answers: set[Answer] = set()

    async def follow(self, answer: Answer, filter: Filter, after: int | None) -> None:
        """Until they leave. `after`: what they have seen already; by default all that there is."""
        if len(self._answers) >= MOST_READERS:
            raise Refused(503, f"expected at most {MOST_READERS} readers of the live stream, got one more")
        # Before anything is waited for: others come meanwhile.
        self._answers.add(answer)
        self._metrics.live_readers = len(self._answers)
        try:
            newest = await self._asked(self._store.last_seq)
            self._newest = max(self._newest, newest)
            if self._looking is None:
                self._looking = asyncio.get_running_loop().create_task(self._look())
            answer.begin(200, _HEAD, _CONNECTED)
            answer.on_gone(self._wake)
            # A place that is yet to come is one of another log, which was there before this one.
            seen = newest if after is None else min(after, newest)
            await _Reader(answer, filter, seen).read(self)
        finally:
            self._answers.discard(answer)
            self._metrics.live_readers = len(self._answers)

    async def close(self) -> None:
        for answer in tuple(self._answers):
            if answer.began:
                answer.end()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        self._wake()

    async def _look(self) -> None:
        while self._answers:
            try:
                newest = await self._asked(self._store.last_seq)
            except Exception as error:
                # Whatever it is: nobody else looks, and it may be over the next time.
                self._tell(self._newest, str(error) or type(error).__name__)
            else:
                self._tell(newest, "")
            await asyncio.sleep(LOOK_S)
        self._looking = None

    def _tell(self, newest: int, away: str) -> None:
        if (newest, away) != (self._newest, self._away):
            self._newest, self._away = newest, away
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # For readers.

    @property
    def newest(self) -> int:
        return self._newest

    @property
    def away(self) -> str:
        return self._away

    async def change(self, within_s: float) -> bool:
        """False if there is none within that time."""
        try:
            await asyncio.wait_for(self._changed.wait(), within_s)
        except TimeoutError:
            return False
        return True

    def rows(self, after: int, filter: Filter) -> Awaitable[tuple[AuditRow, ...]]:
        return self._asked(lambda: self._store.after(after, filter, _PAGE))

    def count(self, after: int, to: int, filter: Filter) -> Awaitable[int]:
        return self._asked(lambda: self._store.count(after, to, filter))

    def dropped(self, count: int) -> None:
        self._metrics.live_dropped += count

    def _asked(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)


class _Reader:
    def __init__(self, answer: Answer, filter: Filter, seen: int) -> None:
        self._answer = answer
        self._filter = filter
        self._seen = seen
        self._missed = 0
        self._told_away = ""

    async def read(self, live: Live) -> None:
        while self._answer.is_open:
            try:
                await self._catch_up(live)
                why = live.away
            except RunError as error:
                why = str(error)
            self._say_away(why)
            if self._seen < live.newest and not why:
                continue
            # Soon, where something is owed to them, or where nobody else would say that it is back.
            soon = self._missed or (why and not live.away)
            if not await live.change(LOOK_S if soon else KEEPALIVE_S) and not soon:
                self._answer.write(_KEEPALIVE)

    async def _catch_up(self, live: Live) -> None:
        """Up to what is the newest by now. Whoever does not take it misses all of it."""
        if not await self._is_ready(live):
            return
        newest = live.newest
        # If the newest rows were removed, or the log is another one now, there is nothing to wait for.
        self._seen = min(self._seen, newest)
        while self._seen < newest and self._answer.is_open:
            page = await live.rows(self._seen, self._filter)
            self._say_away("")
            for row in page:
                if not await self._is_ready(live):
                    return
                self._answer.write(_event("audit", row_document(row), row.seq))
                self._seen = row.seq
            if not page:
                self._seen = max(self._seen, newest)

    async def _is_ready(self, live: Live) -> bool:
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

    async def _miss(self, live: Live) -> None:
        newest = live.newest
        if newest > self._seen:
            count = await live.count(self._seen, newest, self._filter)
            self._missed += count
            self._seen = newest
            live.dropped(count)

    def _say_away(self, why: str) -> None:
        if bool(why) != bool(self._told_away) and not self._is_slow():
            self._answer.write(_event("away", {"error": why}) if why else _event("back", {}))
            self._told_away = why


def _event(name: str, document: dict[str, Any], id: int | None = None) -> bytes:
    data = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")
