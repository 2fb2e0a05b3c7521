"""The store that keys are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.audit.store import Store


def opened(store: str, *, create: bool = False) -> Store:
    """`create`: make it if it is not there: a key may come before the first call."""
    from faultkit.audit.opening import open_store
    from faultkit.audit.place import MEMORY

    if store == MEMORY:
        raise InputError("--store", "expected a file or a URL: keys in memory: would be gone at once")
    return open_store(store, create=create)
