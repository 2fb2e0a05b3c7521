"""`${args.city}` in the answers of a manifest. Pure.

A text that is nothing but one such name becomes the value itself, with its type; inside a longer text it
becomes text. A name without a value becomes an empty text, or null if it stands alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"\$\{\s*([A-Za-z_][\w.\-]*)\s*\}")
ROOTS = ("args", "tool", "call", "sampling", "elicitation", "roots")


def has_names(value: object) -> bool:
    """Return whether the value holds `${…}` names."""
    if isinstance(value, str):
        return _NAME.search(value) is not None
    if isinstance(value, Mapping):
        return any(map(has_names, value.values()))
    return isinstance(value, list) and any(map(has_names, value))


def unknown_name(value: object, roots: tuple[str, ...] = ROOTS) -> str | None:
    """Return the first name whose root is not one of `roots`; None if all are known."""
    if isinstance(value, str):
        names = (match[1].partition(".")[0] for match in _NAME.finditer(value))
        return next((name for name in names if name not in roots), None)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((name for each in inner if (name := unknown_name(each, roots)) is not None), None)


def filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Return the value with its `${…}` names replaced."""
    if isinstance(value, str):
        alone = _NAME.fullmatch(value)
        if alone is not None:
            return _found(alone[1], names)
        return _NAME.sub(lambda match: _text(_found(match[1], names)), value)
    # dict and list, not Mapping and Sequence: JSON values are these, and the checks are much faster.
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    return value


def _found(path: str, names: Mapping[str, Any]) -> Any:
    value: Any = names
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
