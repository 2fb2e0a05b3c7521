"""API keys: how they are made, and which are known.

A key is 256 random bits. Nobody can guess one, so its digest needs no salt and no slow hash: SHA-256 keeps
who reads the database from using it, and costs a call less than a microsecond.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from hashlib import sha256

from faultkit.audit.access.identity import SCOPES
from faultkit.audit.keys import Key, add_key, all_keys, note_use, revoke_key
from faultkit.audit.store import Store
from faultkit.base.errors import InputError
from faultkit.base.times import now_us, parse_time
from faultkit.base.units import parse_duration

PREFIX = "fk_"
"""Tells a key from a token, and lets those who search code for secrets find it."""
_BYTES = 32
_HINT_CHARS = len(PREFIX) + 4
EXPIRY_FORM = 'how long from now, such as "30d", or a time such as "2027-01-31T12:00:00Z"'
NAME_FORM = 'up to 64 letters, digits, ".", "_" and "-", of which the first is a letter or a digit'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LATEST_US = 253_370_764_800_000_000


class NameTaken(InputError):
    """A key of this name is in use."""


class Keys:
    """Those of one store. Everything here waits for the database."""

    def __init__(self, store: Store, clock: Callable[[], int] = now_us) -> None:
        self._store = store
        self._clock = clock

    def create(self, name: str, scopes: Sequence[str], expires_us: int | None = None) -> tuple[Key, str]:
        """The key as it is kept, and the key itself, which is never seen again."""
        at_us = self._clock()
        if not _NAME.fullmatch(name):
            raise InputError("name", f'expected {NAME_FORM}, got "{name[:80]}"')
        wrong = [scope for scope in scopes if scope not in SCOPES]
        if wrong or not scopes:
            given = f'"{wrong[0][:60]}"' if wrong else "none"
            raise InputError("scopes", f"expected some of {', '.join(SCOPES)}, got {given}")
        if expires_us is not None and not at_us < expires_us < _LATEST_US:
            raise InputError("expires", "expected a time to come, before the year 9999")
        plain = PREFIX + secrets.token_urlsafe(_BYTES)
        ordered = tuple(scope for scope in SCOPES if scope in scopes)
        key = Key(digest_of(plain), name, plain[:_HINT_CHARS], ordered, at_us, expires_us)
        if not add_key(self._store, key):
            raise NameTaken(
                "name", f'a key named "{name}" is in use: revoke it first, or choose another name'
            )
        return key, plain

    def list(self) -> list[Key]:
        return all_keys(self._store)

    def revoke(self, name: str) -> bool:
        """False if no key of this name is in use."""
        return revoke_key(self._store, name, self._clock())

    def note_use(self, used_us: dict[str, int]) -> None:
        """When each was last seen, by its digest."""
        note_use(self._store, used_us)


def parse_expiry(text: str, now_us: int) -> int:
    """How long from now, or when."""
    try:
        return now_us + round(parse_duration(text) * 1_000_000)
    except ValueError:
        pass
    try:
        return parse_time(text, now_us)
    except ValueError:
        raise ValueError(f'expected {EXPIRY_FORM}, got "{text[:60]}"') from None


def digest_of(plain: str) -> str:
    return sha256(plain.encode()).hexdigest()
