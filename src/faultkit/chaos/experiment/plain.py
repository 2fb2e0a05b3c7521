"""Whatever a step gave, as JSON that a journal can hold. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

MOST_CHARACTERS = 64 << 10
_DEEPEST = 20
_MOST_ITEMS = 1000


def plain(value: Any, depth: int = 0) -> Any:
    """What JSON cannot say is said in words; what is vast is cut."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else f"{value[:MOST_CHARACTERS]}…"
    if isinstance(value, bytes):
        return plain(value.decode("utf-8", "replace"))
    if depth >= _DEEPEST:
        return "…"
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name), depth + 1) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in list(value.items())[:_MOST_ITEMS]}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each, depth + 1) for each in list(value)[:_MOST_ITEMS]]
    try:
        return plain(repr(value))
    except Exception as error:
        return f"{type(value).__name__} ({type(error).__name__} when shown)"
