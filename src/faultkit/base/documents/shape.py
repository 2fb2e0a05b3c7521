"""The shape of untyped documents: checks that turn `object` into plain values, or say what is wrong.

Used for whatever a user wrote in YAML or JSON. It knows no rule, no fault and no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from faultkit.base.errors import InputError

_LONGEST = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def shown(value: object) -> str:
    """What came, in a few words: containers by their kind only, since they may be vast."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = json.dumps(value, ensure_ascii=not value.isprintable()) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def joined(path: str, key: object) -> str:
    """The path of a key below `path`: `items[0].call`, or `headers["a b"]` for keys that are not plain."""
    text = key if isinstance(key, str) else shown(key)
    if not _PLAIN_KEY.fullmatch(text):
        return f"{path}[{shown(text)}]"
    return f"{path}.{text}" if path else text


def mapping(value: object, keys: Iterable[str], path: str) -> Mapping[str, object]:
    """A mapping that has no other keys than these."""
    if not isinstance(value, Mapping):
        raise InputError(path, f"expected a mapping, got {shown(value)}")
    reject_unknown_keys(value, keys, path)
    return value


def reject_unknown_keys(given: Iterable[object], keys: Iterable[str], path: str) -> None:
    known = tuple(keys)
    for key in given:
        if key in known:
            continue
        raise InputError(joined(path, key), f"unknown key; {advice(key, known)}")


def advice(given: object, known: Sequence[str]) -> str:
    """What may have been meant."""
    near = get_close_matches(given, known, n=1) if isinstance(given, str) else []
    return f'did you mean "{near[0]}"?' if near else f"expected one of {', '.join(known)}"


def sequence(value: object, what: str, path: str) -> list[object]:
    if not isinstance(value, list | tuple):
        raise InputError(path, f"expected a list of {what}, got {shown(value)}")
    return list(value)


def text(value: object, what: str, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(path, f"expected {what}, got {shown(value)}")
    return value


def number(value: object, what: str, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(path, f"expected {what}, got {shown(value)}")
    return value


def whole(value: object, what: str, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(path, f"expected {what}, got {shown(value)}")
    return value


def complaint(path: str, error: ValueError) -> InputError:
    """What a value says of itself, `field: expected …, got …`, as an error of the document."""
    field, _, problem = str(error).partition(": ")
    inner = InputError(field, problem)
    return inner.within(path) if path else inner
