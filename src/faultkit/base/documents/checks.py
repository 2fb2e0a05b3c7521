"""Checks of untyped documents: they return a typed value or raise an error that names what was expected.

For data that a user wrote in YAML or JSON. It knows no format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from faultkit.base.errors import InputError
from faultkit.base.text import close_names, shortened

_LONGEST = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def shown(value: object) -> str:
    """Return a value in a few words for a message; containers by their kind only."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = json.dumps(value, ensure_ascii=not value.isprintable()) if isinstance(value, str) else str(value)
    return shortened(text, _LONGEST)


def join_path(path: str, key: object) -> str:
    """Return the path of a key: `items[0].call`, or `headers["a b"]` for a key that is not one word."""
    text = key if isinstance(key, str) else shown(key)
    if not _PLAIN_KEY.fullmatch(text):
        return f"{path}[{shown(text)}]"
    return f"{path}.{text}" if path else text


def mapping(value: object, keys: Iterable[str], path: str) -> Mapping[str, object]:
    """Return a mapping that has no other keys than these."""
    if not isinstance(value, Mapping):
        raise InputError(path, f"expected a mapping, got {shown(value)}")
    reject_unknown_keys(value, keys, path)
    return value


def reject_unknown_keys(given: Iterable[object], keys: Iterable[str], path: str) -> None:
    """Raise InputError for the first key that is not known."""
    known = tuple(keys)
    for key in given:
        if key in known:
            continue
        raise InputError(join_path(path, key), f"unknown key; {advice(key, known)}")


def advice(given: object, known: Sequence[str]) -> str:
    """Return a hint for a misspelt name: the closest known name, or all of them."""
    near = close_names(given, known) if isinstance(given, str) else []
    return f'did you mean "{near[0]}"?' if near else f"expected one of {', '.join(known)}"


def sequence(value: object, what: str, path: str) -> list[object]:
    """Return a list."""
    if not isinstance(value, list | tuple):
        raise InputError(path, f"expected a list of {what}, got {shown(value)}")
    return list(value)


def text(value: object, what: str, path: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise InputError(path, f"expected {what}, got {shown(value)}")
    return value


def number(value: object, what: str, path: str) -> float:
    """Return a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(path, f"expected {what}, got {shown(value)}")
    return value


def whole_number(value: object, what: str, path: str) -> int:
    """Return a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(path, f"expected {what}, got {shown(value)}")
    return value


def field_error(path: str, error: ValueError) -> InputError:
    """Return the error of a value, `field: expected …, got …`, as an error of the document."""
    field, _, problem = str(error).partition(": ")
    inner = InputError(field, problem)
    return inner.within(path) if path else inner
