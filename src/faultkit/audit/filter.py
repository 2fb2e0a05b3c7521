"""Filters over the rows of the audit log, and their text form. An unknown filter is always an error. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from faultkit.base.errors import InputError
from faultkit.base.times import parse_time

USUAL_LIMIT = 50
MOST_LIMIT = 1000
HAS = (
    "request_params",
    "request_headers",
    "response_result",
    "response_error",
    "notifications",
    "replayed_from",
)
"""Parts of a payload whose presence can be required."""
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Param:
    """A value that a JSON document must have at a path."""

    path: tuple[str, ...]
    """Keys of objects, and indices of lists."""
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a row must meet, all of them, and the page that is wanted."""

    tool: str | None = None
    user: str | None = None
    session: str | None = None
    success: bool | None = None
    category: str | None = None
    source: str | None = None
    auth_type: str | None = None
    key: str | None = None
    """Name of an API key."""
    from_us: int | None = None
    to_us: int | None = None
    """Exclusive end."""
    q: str | None = None
    """Text in the tool's name, the error message or the user's name, ignoring case."""
    params: tuple[Param, ...] = ()
    responses: tuple[Param, ...] = ()
    """Values in the result or the error."""
    headers: tuple[Param, ...] = ()
    """Headers of the request, by names in lower case."""
    has: tuple[str, ...] = ()
    limit: int = USUAL_LIMIT
    offset: int = 0
    before: tuple[int, int] | None = None
    """Time and position of a row: only rows listed after it."""


def parse_filter(
    pairs: Iterable[tuple[str, str]],
    now_us: int,
    *,
    without: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Filter:
    """Return the filter that names and texts of a query string or a command line describe. `without`: names
    that are not allowed. `beside`: names that the caller reads itself, for error messages. Raises
    InputError."""
    found = Filter()
    seen: set[str] = set()
    for name, text in pairs:
        kind, dot, _ = name.partition(".")
        if dot and kind in _PATHS:
            field, path_reader = _PATHS[kind]
            found = _with(found, field, _read(name, text, partial(path_reader, name)))
            continue
        if name not in _READERS or name in without:
            known = [each for each in (*_READERS, *_SHOWN_PATHS) if each not in without]
            raise InputError(name[:60], f"expected one of the filters {', '.join((*known, *beside))}")
        field, reader = _READERS[name]
        value = _read(name, text, partial(reader, now_us=now_us))
        if field == "has":
            found = _with(found, field, value)
            continue
        if name in seen:
            raise InputError(name, "expected once, got it twice")
        seen.add(name)
        found = replace(found, **{field: value})
    if found.from_us is not None and found.to_us is not None and found.from_us > found.to_us:
        raise InputError("to", "expected a time after `from`, got one before it")
    if found.before is not None and found.offset:
        raise InputError("cursor", "expected without `offset`, got both")
    return found


def cursor_of(at_us: int, seq: int) -> str:
    """Return the cursor of the page after a row."""
    return f"{at_us}-{seq}"


def _with(found: Filter, field: str, value: object) -> Filter:
    changed: dict[str, Any] = {field: (*getattr(found, field), value)}
    return replace(found, **changed)


def _read(name: str, text: str, reader: Callable[[str], Any]) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise InputError(name, str(error)) from None


def _text(text: str, now_us: int = 0) -> str:
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
        return count_of(text, least, most)

    return read


def count_of(text: str, least: int, most: int) -> int:
    """Return the whole number in a text. Raises ValueError if it is not within the limits."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise ValueError(f'expected a whole number from {least} to {most}, got "{text[:60]}"')
    return int(text)


def _one_of(names: tuple[str, ...]) -> _Reader:
    def read(text: str, now_us: int) -> str:
        if text not in names:
            raise ValueError(f'expected one of {", ".join(names)}, got "{text[:60]}"')
        return text

    return read


def _cursor(text: str, now_us: int) -> tuple[int, int]:
    parts = text.split("-")
    try:
        at_us, seq = (count_of(part, 0, _LARGEST) for part in parts)
    except ValueError:
        raise ValueError(f'expected the `next` of another page, got "{text[:60]}"') from None
    return at_us, seq


def _path(name: str, text: str) -> Param:
    kind, _, rest = name.partition(".")
    path = tuple(rest.split("."))
    if not all(path) or "\0" in name:
        raise ValueError(f"expected a path such as {_SHOWN_EXAMPLES[kind]}, got an empty part")
    return Param(path, param_value(text))


def _header(name: str, text: str) -> Param:
    called = name.partition(".")[2].lower()
    if not called or "\0" in called:
        raise ValueError("expected the name of a header such as header.User-Agent, got none")
    if "\0" in text:
        raise ValueError("expected a text without NUL")
    return Param((called,), text)


def param_value(text: str) -> str | int | float | bool | None:
    """Return the JSON value of a text: `5` is a number, `true` a boolean; other texts stand for
    themselves."""
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
    "source": ("source", _text),
    "auth_type": ("auth_type", _text),
    "key": ("key", _text),
    "from": ("from_us", parse_time),
    "to": ("to_us", parse_time),
    "q": ("q", _text),
    "has": ("has", _one_of(HAS)),
    "limit": ("limit", _count(1, MOST_LIMIT)),
    "offset": ("offset", _count(0, _LARGEST)),
    "cursor": ("before", _cursor),
}
PAGING = ("limit", "offset", "cursor")
FILTERS = tuple(name for name in _READERS if name not in PAGING)
_PATHS: dict[str, tuple[str, Callable[[str, str], Param]]] = {
    "param": ("params", _path),
    "response": ("responses", _path),
    "header": ("headers", _header),
}
PATHS = tuple(f"{name}." for name in _PATHS)
_SHOWN_PATHS = ("param.PATH", "response.PATH", "header.NAME")
_SHOWN_EXAMPLES = {
    "param": "param.seed or param.extras.user.0",
    "response": "response.isError or response.content.0.text",
}


def param_holds(text: str | None, path: Iterable[str], value: object) -> bool:
    """Return whether a JSON text has a value at a path. A boolean is not a number, and 5 equals 5.0.

    SQLite calls this, since its own JSON functions compare differently."""
    if text is None:
        return False
    try:
        found: Any = json.loads(text)
    except RecursionError:
        # Stored as text, but nested too deeply to be parsed here.
        return False
    for part in path:
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(found):
            found = found[int(part[:9])]
        else:
            return False
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)
