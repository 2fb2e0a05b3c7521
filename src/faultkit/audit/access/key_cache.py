"""A cache of the API keys, so that a call does not query the database.

A key that any process revokes stops working within `STALE_S`. A new key works at once. While the database is
unavailable, keys keep the state that was last read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hmac import compare_digest
from time import monotonic

from faultkit.audit.access.api_keys import ApiKey, KeyStore, key_digest
from faultkit.audit.access.identity import Identity, scopes_of
from faultkit.base.errors import RunError

STALE_S = 0.9
"""Age from which the cached keys must be read again before use."""
_REFRESH_S = 0.4
"""Age from which keys are read again in the background, so that busy callers never wait for it."""
_READ_INTERVAL_S = 0.1
"""Minimum time between reads: guessing keys must not keep the database busy."""
_READ_TIMEOUT_S = 0.5
"""Time that a call waits for a database that does not answer."""
_WRITE_USE_S = 30.0
"""Interval at which the times of last use are written."""


class KeysUnavailable(Exception):
    """The database cannot be read, so it is not known whether a key exists."""


@dataclass(frozen=True, slots=True)
class CachedKey:
    """A key with the identity that it stands for."""

    key: ApiKey
    identity: Identity


class KeyCache:
    """The keys of one store. It belongs to one event loop."""

    def __init__(self, keys: KeyStore, say: Callable[[str], None] = lambda line: None) -> None:
        """`say` receives one line when the database becomes unavailable."""
        self._keys = keys
        self._say = say
        self._cached: dict[str, CachedKey] = {}
        self._read_s = self._began_s = float("-inf")
        """Times of the last finished read, and of the start of the last one."""
        self._unavailable = ""
        """Why the database cannot be read; empty if it can."""
        self._read: asyncio.Task[None] | None = None
        self._used_us: dict[str, int] = {}
        self._write_timer: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, "access-keys")

    def find(self, plain: str) -> CachedKey | Awaitable[CachedKey | None]:
        """Return the key; an awaitable if the database must be read, which may raise KeysUnavailable."""
        digest = key_digest(plain)
        cached = self._cached.get(digest)
        age_s = monotonic() - self._read_s
        if cached is None or age_s > STALE_S or not compare_digest(cached.key.digest, digest):
            return self._find_later(digest)
        if age_s > _REFRESH_S:
            self._begin_read()
        return cached

    def used(self, cached: CachedKey, at_us: int) -> None:
        """Remember that a key was used, to be written later."""
        self._used_us[cached.key.digest] = at_us
        if self._write_timer is None:
            self._write_timer = asyncio.get_running_loop().call_later(_WRITE_USE_S, self._write_use)

    async def close(self) -> None:
        """Write the pending times of use and end the thread."""
        if self._write_timer is not None:
            self._write_timer.cancel()
        if self._read is not None:
            await asyncio.wait({self._read}, timeout=_READ_TIMEOUT_S)
        self._write_use()
        # A query that hangs in an unavailable database ends with the process.
        await asyncio.to_thread(self._thread.shutdown, wait=not self._unavailable)

    async def _find_later(self, digest: str) -> CachedKey | None:
        came_s = monotonic()
        # An unknown key may have been created since the last read, so only a read that began later counts.
        while self._read_s < (came_s if digest not in self._cached else came_s - STALE_S):
            read = self._begin_read()
            await asyncio.wait({read}, timeout=_READ_TIMEOUT_S)
            if read.done():
                read.result()
            else:
                self._read_s, self._unavailable = monotonic(), "the database does not answer"
        cached = self._cached.get(digest)
        if cached is None and self._unavailable:
            raise KeysUnavailable(self._unavailable)
        return cached

    def _begin_read(self) -> asyncio.Task[None]:
        if self._read is None or self._read.done():
            self._read = asyncio.get_running_loop().create_task(self._read_once())
        return self._read

    async def _read_once(self) -> None:
        await asyncio.sleep(max(0.0, self._began_s + _READ_INTERVAL_S - monotonic()))
        began_s = self._began_s = monotonic()
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._thread, self._keys.list)
        except RunError as error:
            if not self._unavailable:
                self._say(f"keys: the database is unavailable, known keys stay valid: {error}")
            self._unavailable = str(error)
        else:
            self._unavailable = ""
            self._cached = {
                key.digest: CachedKey(
                    key, Identity(key.name, "apikey", scopes_of(key.scopes), key_name=key.name)
                )
                for key in found
            }
        self._read_s = max(self._read_s, began_s)

    def _write_use(self) -> None:
        self._write_timer = None
        used_us, self._used_us = self._used_us, {}
        if used_us:
            self._thread.submit(self._write_in_thread, used_us)

    def _write_in_thread(self, used_us: dict[str, int]) -> None:
        try:
            self._keys.note_use(used_us)
        except RunError as error:
            self._say(f"keys: the times of last use were not written: {error}")
