"""Which rows of the audit log are asked for. A filter that is not understood is an error, never silence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from faultkit.errors import InputError
from faultkit.store.times import parse_time

USUAL_LIMIT = 50
MOST_LIMIT = 1000
_LARGEST = 2**63 - 1
_PARAM = "param."


@dataclass(frozen=True, slots=True)
class Param:
    """Something in the parameters that must be so."""

    path: tuple[str, ...]
    """Keys, and places in lists."""
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Filter:
    tool: str | None = None
    user: str | None = None
    session: str | None = None
    success: bool | None = None
    category: str | None = None
    from_us: int | None = None
    to_us: int | None = None
    """Up to, and not with."""
    q: str | None = None
    """Somewhere in the tool's name, the error's text, or the user's name; in whatever case."""
    params: tuple[Param, ...] = ()
    limit: int = USUAL_LIMIT
    offset: int = 0


def parse_filter(pairs: Iterable[tuple[str, str]], now_us: int) -> Filter:
    """From names and texts, as a query string or a command line has them."""
    found = Filter()
    seen: set[str] = set()
    for name, text in pairs:
        if name.startswith(_PARAM):
            found = replace(found, params=(*found.params, _read(name, text, _param(name))))
            continue
        if name not in _READERS:
            known = ", ".join((*_READERS, "param.PATH"))
            raise InputError(name, f"expected one of the filters {known}")
        if name in seen:
            raise InputError(name, "expected once, got it twice")
        seen.add(name)
        field, reader = _READERS[name]
        found = replace(found, **{field: _read(name, text, partial(reader, now_us=now_us))})
    if found.from_us is not None and found.to_us is not None and found.from_us > found.to_us:
        raise InputError("to", "expected a time after `from`, got one before it")
    return found


def _read(name: str, text: str, reader: Callable[[str], Any]) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise InputError(name, str(error)) from None


def _text(text: str, now_us: int) -> str:
    if not text:
        raise ValueError("expected a text, got nothing")
    if "\0" in text:
        raise ValueError("expected a text without NUL")
    return text


def _flag(text: str, now_us: int) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f'expected true or false, got "{text[:60]}"')
    return text == "true"


def _count(least: int, most: int) -> _Reader:
    def read(text: str, now_us: int) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
            raise ValueError(f'expected a whole number from {least} to {most}, got "{text[:60]}"')
        return int(text)

    return read


def _param(name: str) -> Callable[[str], Param]:
    def read(text: str) -> Param:
        path = tuple(name.removeprefix(_PARAM).split("."))
        if not all(path) or "\0" in name:
            raise ValueError("expected a path such as param.seed or param.extras.user.0, got an empty part")
        return Param(path, param_value(text))

    return read


def param_value(text: str) -> str | int | float | bool | None:
    """`5` is a number, `true` a truth, `"5"` in quotes a text, and so is all else."""
    if "\0" in text:
        raise ValueError("expected a text without NUL")
    try:
        value = json.loads(text, parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict | list) or value in (float("inf"), float("-inf")):
        return text
    assert value is None or isinstance(value, str | int | float | bool)
    return value


class _Reader(Protocol):
    def __call__(self, text: str, now_us: int) -> Any: ...


_READERS: dict[str, tuple[str, _Reader]] = {
    "tool": ("tool", _text),
    "user": ("user", _text),
    "session": ("session", _text),
    "success": ("success", _flag),
    "category": ("category", _text),
    "from": ("from_us", parse_time),
    "to": ("to_us", parse_time),
    "q": ("q", _text),
    "limit": ("limit", _count(1, MOST_LIMIT)),
    "offset": ("offset", _count(0, _LARGEST)),
}


def param_holds(parameters: str | None, path: Iterable[str], value: object) -> bool:
    """For databases that cannot look into JSON as we want it: a truth is no number, and 5 is 5.0."""
    if parameters is None:
        return False
    found: Any = json.loads(parameters)
    for part in path:
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(found):
            found = found[int(part[:9])]
        else:
            return False
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)
