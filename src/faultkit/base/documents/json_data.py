"""YAML data as JSON has it. Pure.

YAML has more than JSON: dates, keys that are not text, sets, bytes. Values with an obvious form in JSON are
converted; the others are refused when the document is read, not when a client asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.checks import join_path, shown
from faultkit.base.errors import InputError


def to_json_data(value: object, path: str = "") -> Any:
    """Return YAML data as JSON has it. Raises InputError with the path of a value that JSON does not have."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(path, f"expected a number that JSON has, got {value}")
        return value
    if (day := _date_text(value)) is not None:
        return day
    if isinstance(value, Mapping):
        return {_key(key, path): to_json_data(each, join_path(path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [to_json_data(each, f"{path}[{index}]") for index, each in enumerate(value)]
    raise InputError(path, f"expected what JSON has, got {_kind(value)}")


def _key(key: object, path: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float | None):
        # As JSON would write it: `404: not found` is a key like any other.
        return shown(key) if key is not None else "null"
    if (day := _date_text(key)) is not None:
        return day
    raise InputError(path, f"expected texts as keys, got {_kind(key)}")


def _date_text(value: object) -> str | None:
    """Return the text of a date or a time, as YAML writes it; None for other values."""
    written = getattr(value, "isoformat", None)
    return str(written()) if callable(written) else None


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


_KINDS: dict[type, str] = {set: "a set", bytes: "bytes", tuple: "a list"}
