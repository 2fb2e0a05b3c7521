"""Documents of YAML as JSON has them, before anything is read from them. Pure.

YAML knows more than JSON: dates, keys that are no texts, sets, bytes. What has an obvious JSON is turned into
it; the rest is refused where it stands, and not when a client asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.shape import joined, shown
from faultkit.base.errors import InputError


def plain(value: object, path: str = "") -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(path, f"expected a number that JSON has, got {value}")
        return value
    if (day := _day(value)) is not None:
        return day
    if isinstance(value, Mapping):
        return {_key(key, path): plain(each, joined(path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each, f"{path}[{index}]") for index, each in enumerate(value)]
    raise InputError(path, f"expected what JSON has, got {_kind(value)}")


def _key(key: object, path: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float | None):
        # As JSON would have written it: `404: not found` is a key like any other.
        return shown(key) if key is not None else "null"
    if (day := _day(key)) is not None:
        return day
    raise InputError(path, f"expected texts as keys, got {_kind(key)}")


def _day(value: object) -> str | None:
    """Of a date or a time, as YAML writes it."""
    written = getattr(value, "isoformat", None)
    return str(written()) if callable(written) else None


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


_KINDS: dict[type, str] = {set: "a set", bytes: "bytes", tuple: "a list"}
