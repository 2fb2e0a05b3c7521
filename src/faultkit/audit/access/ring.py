"""The keys that are known, in memory, so that a call need not ask the database.

A key that is revoked, by whatever process, is known to be so within `STALE_S`. A key that was just made is
known at once. While the database is away, keys stay what they were when it was last read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hmac import compare_digest
from time import monotonic

from faultkit.audit.access.identity import Identity, scopes_of
from faultkit.audit.access.keys import Keys, digest_of
from faultkit.audit.keys import Key
from faultkit.base.errors import RunError

STALE_S = 0.9
"""What was read from the database so long ago counts no more."""
_LOOK_S = 0.4
"""What was read so long ago is read again behind the calls: those who call often never wait for it."""
_APART_S = 0.1
"""Between looks: whoever tries wrong keys must not keep the database busy."""
_PATIENCE_S = 0.5
"""How long a call waits for a database that does not answer."""
_NOTE_S = 30.0
"""How often it is written down when keys were last used."""


class KeysAway(Exception):
    """It cannot be said whether there is such a key."""


@dataclass(frozen=True, slots=True)
class Known:
    key: Key
    identity: Identity


class KeyRing:
    """For one event loop."""

    def __init__(self, keys: Keys, say: Callable[[str], None] = lambda line: None) -> None:
        self._keys = keys
        self._say = say
        self._known: dict[str, Known] = {}
        self._read_s = self._began_s = float("-inf")
        self._away = ""
        self._look: asyncio.Task[None] | None = None
        self._used_us: dict[str, int] = {}
        self._note: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, "access-keys")

    def find(self, plain: str) -> Known | Awaitable[Known | None]:
        """An awaitable if the database has to be asked, which may raise KeysAway."""
        digest = digest_of(plain)
        known = self._known.get(digest)
        age_s = monotonic() - self._read_s
        if known is None or age_s > STALE_S or not compare_digest(known.key.digest, digest):
            return self._find_later(digest)
        if age_s > _LOOK_S:
            self._begin_look()
        return known

    def used(self, known: Known, at_us: int) -> None:
        self._used_us[known.key.digest] = at_us
        if self._note is None:
            self._note = asyncio.get_running_loop().call_later(_NOTE_S, self._write_use)

    async def close(self) -> None:
        if self._note is not None:
            self._note.cancel()
        if self._look is not None:
            await asyncio.wait({self._look}, timeout=_PATIENCE_S)
        self._write_use()
        # What hangs in a database that is away ends with the process.
        await asyncio.to_thread(self._thread.shutdown, wait=not self._away)

    async def _find_later(self, digest: str) -> Known | None:
        came_s = monotonic()
        # Of a key that we do not know, what was read before it came says nothing.
        while self._read_s < (came_s if digest not in self._known else came_s - STALE_S):
            look = self._begin_look()
            await asyncio.wait({look}, timeout=_PATIENCE_S)
            if look.done():
                look.result()
            else:
                self._read_s, self._away = monotonic(), "the database does not answer"
        known = self._known.get(digest)
        if known is None and self._away:
            raise KeysAway(self._away)
        return known

    def _begin_look(self) -> asyncio.Task[None]:
        if self._look is None or self._look.done():
            self._look = asyncio.get_running_loop().create_task(self._look_once())
        return self._look

    async def _look_once(self) -> None:
        await asyncio.sleep(max(0.0, self._began_s + _APART_S - monotonic()))
        began_s = self._began_s = monotonic()
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._thread, self._keys.list)
        except RunError as error:
            if not self._away:
                self._say(f"keys: those known stay as they are, the database is away: {error}")
            self._away = str(error)
        else:
            self._away = ""
            self._known = {key.digest: Known(key, identity_of(key)) for key in found}
        self._read_s = max(self._read_s, began_s)

    def _write_use(self) -> None:
        self._note = None
        used_us, self._used_us = self._used_us, {}
        if used_us:
            self._thread.submit(self._write_behind, used_us)

    def _write_behind(self, used_us: dict[str, int]) -> None:
        try:
            self._keys.note_use(used_us)
        except RunError as error:
            self._say(f"keys: it was not written down when they were last used: {error}")


def identity_of(key: Key) -> Identity:
    return Identity(key.name, "apikey", scopes_of(key.scopes), key_name=key.name)
