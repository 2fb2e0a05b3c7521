"""API keys: how they are created, and the table that keeps their digests, never the keys themselves.

A key is 256 random bits. It cannot be guessed, so its digest needs no salt and no slow hash: SHA-256 keeps
readers of the database from using it, and costs a call less than a microsecond.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from faultkit.audit.access.identity import SCOPES
from faultkit.audit.audit_tables import keys
from faultkit.audit.store import Store
from faultkit.base.errors import InputError
from faultkit.base.times import now_us, parse_time, time_text
from faultkit.base.units import parse_duration

KEY_PREFIX = "fk_"
"""Distinguishes a key from a token, and lets secret scanners recognise it."""
_BYTES = 32
_HINT_CHARS = len(KEY_PREFIX) + 4
EXPIRY_FORM = 'how long from now, such as "30d", or a time such as "2027-01-31T12:00:00Z"'
NAME_FORM = 'up to 64 letters, digits, ".", "_" and "-", of which the first is a letter or a digit'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LATEST_US = 253_370_764_800_000_000


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
