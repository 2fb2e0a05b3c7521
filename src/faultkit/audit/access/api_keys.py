"""API keys: creating them, the table of their digests, and a cache so that calls do not query the database.

A key is 256 random bits. It cannot be guessed, so its digest needs no salt and no slow hash: SHA-256 keeps
readers of the database from using it, and costs a call less than a microsecond. The key itself is not stored.

In the cache, a key that any process revokes stops working within `STALE_S`. A new key works at once. While
the database is unavailable, keys keep the state that was last read.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from hashlib import sha256
from hmac import compare_digest
from time import monotonic
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from faultkit.audit.access.identity import SCOPES, Identity, scopes_of
from faultkit.audit.audit_sql import keys
from faultkit.audit.store import Store
from faultkit.base.errors import InputError, RunError
from faultkit.base.times import now_us, parse_time, time_text
from faultkit.base.units import parse_duration

KEY_PREFIX = "fk_"
"""Distinguishes a key from a token, and lets secret scanners recognise it."""
_BYTES = 32
_HINT_CHARS = len(KEY_PREFIX) + 4
DEFAULT_SCOPES = ("read", "call")
"""What a new key allows if nothing else is asked for."""
EXPIRY_FORM = 'how long from now, such as "30d", or a time such as "2027-01-31T12:00:00Z"'
NAME_FORM = 'up to 64 letters, digits, ".", "_" and "-", of which the first is a letter or a digit'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LATEST_US = 253_370_764_800_000_000
"""Start of the year 9999, in microseconds since 1970."""


class NameTaken(InputError):
    """A key of this name is already in use."""


class KeyStore:
    """The keys of one store. Every method blocks on the database."""

    def __init__(self, store: Store, clock: Callable[[], int] = now_us) -> None:
        self._store = store
        self._clock = clock

    def create(self, name: str, scopes: Sequence[str], expires_us: int | None = None) -> tuple[ApiKey, str]:
        """Create a key and return its record and the key itself, which is not stored anywhere."""
        at_us = self._clock()
        if not _NAME.fullmatch(name):
            raise InputError("name", f'expected {NAME_FORM}, got "{name[:80]}"')
        wrong = [scope for scope in scopes if scope not in SCOPES]
        if wrong or not scopes:
            given = f'"{wrong[0][:60]}"' if wrong else "none"
            raise InputError("scopes", f"expected some of {', '.join(SCOPES)}, got {given}")
        if expires_us is not None and not at_us < expires_us < _LATEST_US:
            raise InputError("expires", "expected a time in the future, before the year 9999")
        plain = KEY_PREFIX + secrets.token_urlsafe(_BYTES)
        ordered = tuple(scope for scope in SCOPES if scope in scopes)
        key = ApiKey(key_digest(plain), name, plain[:_HINT_CHARS], ordered, at_us, expires_us)
        if not add_key(self._store, key):
            raise NameTaken(
                "name", f'a key named "{name}" is in use: revoke it first, or choose another name'
            )
        return key, plain

    def list(self) -> list[ApiKey]:
        """Return all keys, by name and then by time of creation."""
        return all_keys(self._store)

    def revoke(self, name: str) -> bool:
        """Revoke the key of this name; return False if none is in use."""
        return revoke_key(self._store, name, self._clock())

    def note_use(self, used_us: dict[str, int]) -> None:
        """Store when each key was last used, by its digest."""
        note_use(self._store, used_us)


def parse_expiry(text: str, now_us: int) -> int:
    """Return the time that a duration from now, or a time, names. Raises ValueError."""
    try:
        return now_us + round(parse_duration(text) * 1_000_000)
    except ValueError:
        pass
    try:
        return parse_time(text, now_us)
    except ValueError:
        raise ValueError(f'expected {EXPIRY_FORM}, got "{text[:60]}"') from None


def key_digest(plain: str) -> str:
    """Return the SHA-256 digest of a key, in hexadecimal."""
    return sha256(plain.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The stored record of a key."""

    digest: str
    """SHA-256 digest of the key, in hexadecimal."""
    name: str
    """Unique among the keys in use; the name of a revoked key is free again."""
    hint: str
    """First characters of the key, to recognise it by."""
    scopes: tuple[str, ...]
    created_us: int
    expires_us: int | None = None
    revoked_us: int | None = None
    used_us: int | None = None
    """Time of last use, up to half a minute late."""


_FIELDS = tuple(field.name for field in fields(ApiKey))


def key_document(key: ApiKey) -> dict[str, Any]:
    """Return the JSON form of a key's record, without its digest."""
    times = {
        "created": key.created_us,
        "expires": key.expires_us,
        "last_used": key.used_us,
        "revoked": key.revoked_us,
    }
    shown = {name: None if at_us is None else time_text(at_us) for name, at_us in times.items()}
    return {"name": key.name, "hint": key.hint, "scopes": list(key.scopes), **shown}


def add_key(store: Store, key: ApiKey) -> bool:
    """Insert a key; return False if one of this name is in use."""
    row = {name: getattr(key, name) for name in _FIELDS} | {"scopes": " ".join(key.scopes)}

    def write(connection: Connection) -> bool:
        is_sqlite = connection.dialect.name == "sqlite"
        insert = sqlite.insert(keys) if is_sqlite else postgresql.insert(keys)
        added = insert.values(row).on_conflict_do_nothing().returning(keys.c.digest)
        return connection.execute(added).first() is not None

    return store.write(write)


def all_keys(store: Store) -> list[ApiKey]:
    """Return all keys, by name and then by time of creation."""
    wanted = select(keys).order_by(keys.c.name, keys.c.created_us)
    rows = store.read(lambda connection: connection.execute(wanted).mappings().all())
    return [ApiKey(**{**row, "scopes": tuple(row["scopes"].split())}) for row in rows]


def revoke_key(store: Store, name: str, now_us: int) -> bool:
    """Revoke the key of this name; return False if none is in use."""
    change = keys.update().where(keys.c.name == name, keys.c.revoked_us.is_(None)).values(revoked_us=now_us)
    return store.write(lambda connection: connection.execute(change).rowcount) > 0


def note_use(store: Store, used_us: Mapping[str, int]) -> None:
    """Store when keys were last used, by digest. The latest time of several servers is kept."""

    def write(connection: Connection) -> None:
        for digest, at_us in used_us.items():
            is_later = func.coalesce(keys.c.used_us, 0) < at_us
            connection.execute(keys.update().where(keys.c.digest == digest, is_later).values(used_us=at_us))

    if used_us:
        store.write(write)


# --- cache ----------------------------------------------------------------------------------------

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
