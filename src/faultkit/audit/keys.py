"""The table of API keys: what is kept of each, which is never the key itself. Nothing here can make one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from faultkit.audit.schema import keys
from faultkit.audit.store import Store
from faultkit.base.times import time_text


@dataclass(frozen=True, slots=True)
class Key:
    digest: str
    """SHA-256 of it, in hexadecimal."""
    name: str
    """No two that are in use have the same; one that was revoked leaves its name to others."""
    hint: str
    """How it begins, to know it again by."""
    scopes: tuple[str, ...]
    created_us: int
    expires_us: int | None = None
    revoked_us: int | None = None
    used_us: int | None = None
    """When it was last seen, or up to half a minute before."""


_FIELDS = tuple(field.name for field in fields(Key))


def key_document(key: Key) -> dict[str, Any]:
    """For JSON."""
    times = {
        "created": key.created_us,
        "expires": key.expires_us,
        "last_used": key.used_us,
        "revoked": key.revoked_us,
    }
    shown = {name: None if at_us is None else time_text(at_us) for name, at_us in times.items()}
    return {"name": key.name, "hint": key.hint, "scopes": list(key.scopes), **shown}


def add_key(store: Store, key: Key) -> bool:
    """False if a key of this name is in use."""
    row = {name: getattr(key, name) for name in _FIELDS} | {"scopes": " ".join(key.scopes)}

    def write(connection: Connection) -> bool:
        is_sqlite = connection.dialect.name == "sqlite"
        insert = sqlite.insert(keys) if is_sqlite else postgresql.insert(keys)
        added = insert.values(row).on_conflict_do_nothing().returning(keys.c.digest)
        return connection.execute(added).first() is not None

    return store.write(write)


def all_keys(store: Store) -> list[Key]:
    """By name, those of one name in the order in which they were made."""
    wanted = select(keys).order_by(keys.c.name, keys.c.created_us)
    rows = store.read(lambda connection: connection.execute(wanted).mappings().all())
    return [Key(**{**row, "scopes": tuple(row["scopes"].split())}) for row in rows]


def revoke_key(store: Store, name: str, now_us: int) -> bool:
    """False if no key of this name is in use."""
    change = keys.update().where(keys.c.name == name, keys.c.revoked_us.is_(None)).values(revoked_us=now_us)
    return store.write(lambda connection: connection.execute(change).rowcount) > 0


def note_use(store: Store, used_us: Mapping[str, int]) -> None:
    """When the keys with these digests were last seen. Several servers may say so of the same one."""

    def write(connection: Connection) -> None:
        for digest, at_us in used_us.items():
            is_later = func.coalesce(keys.c.used_us, 0) < at_us
            connection.execute(keys.update().where(keys.c.digest == digest, is_later).values(used_us=at_us))

    if used_us:
        store.write(write)
