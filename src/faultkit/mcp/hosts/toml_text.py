"""One table of a TOML file: put it there, bring it up to date, or take it away. Pure.

Python reads TOML and does not write it, so the lines of the table are changed as text: comments and all other
lines stay as they are. What a change made is read again, and it is an error if it is not what was asked for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[ \t]*\[")
_IS_IDLE = re.compile(r"\s*(#[^\n]*)?\s*")


def read_toml(text: str) -> dict[str, Any]:
    """Raises ValueError with the place."""
    return tomllib.loads(text.removeprefix("\ufeff"))


def toml_table(path: Sequence[str], values: Mapping[str, Any]) -> str:
    """As it is written: a header and a line for each value."""
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_value(values[key])}" for key in values)]
    return "\n".join(lines) + "\n"


def with_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """The same text in which the table has these values; what else is in the table stays."""
    there = _table(read_toml(text), path)
    newline = "\r\n" if "\r\n" in text else "\n"
    if there is None:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        new = text + gap + toml_table(path, values).replace("\n", newline)
    else:
        lines = text.splitlines(keepends=True)
        start, end = _span(lines, path)
        for key, value in values.items():
            if there.get(key) != value:
                end += _put(lines, start, end, key, f"{_key(key)} = {_value(value)}{newline}")
        new = "".join(lines)
    return _checked(new, _changed(read_toml(text), path, {**(there or {}), **values}))


def without_table(text: str, path: Sequence[str]) -> str:
    """The same text without the table and those below it; as it is if there is none."""
    whole = read_toml(text)
    if _table(whole, path) is None:
        return text
    lines = text.splitlines(keepends=True)
    for place in reversed([place for place, line in enumerate(lines) if _is_below(line, path)]):
        end, start = _end(lines, place), place
        while start > 0 and not lines[start - 1].strip():
            start -= 1
        del lines[start:end]
    return _checked("".join(lines), _changed(whole, path, None))


def _table(whole: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any] | None:
    at: Any = whole
    for place, key in enumerate(path):
        if not isinstance(at, dict):
            raise ValueError(f"expected {'.'.join(path[:place])} to be a table, got {at!r}")
        if key not in at:
            return None
        at = at[key]
    if not isinstance(at, dict):
        raise ValueError(f"expected {'.'.join(path)} to be a table, got {at!r}")
    return at


def _span(lines: Sequence[str], path: Sequence[str]) -> tuple[int, int]:
    start = next((place for place, line in enumerate(lines) if _header_of(line) == tuple(path)), None)
    if start is None:
        raise ValueError(f"expected a header [{'.'.join(path)}], got the table in another form")
    return start, _end(lines, start)


def _end(lines: Sequence[str], start: int) -> int:
    """Behind the table's last line. Comments that stand before the next header belong to that."""
    after = (place for place in range(start + 1, len(lines)) if _header_of(lines[place]) is not None)
    end = next(after, len(lines))
    while end > start + 1 and _IS_IDLE.fullmatch(lines[end - 1]):
        end -= 1
    return end


def _put(lines: list[str], start: int, end: int, key: str, new: str) -> int:
    """Instead of the lines that set the key, or behind the last. Tells by how many lines it got longer."""
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\r\n" if new.endswith("\r\n") else "\n"
    for first in range(start + 1, end):
        for last in range(first + 1, end + 1):
            if _sets("".join(lines[first:last])) == [key]:
                lines[first:last] = [new]
                return 1 - (last - first)
    lines.insert(end, new)
    return 1


def _sets(text: str) -> list[str]:
    """The keys that these lines set; none if they are no whole statement."""
    try:
        return list(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return []


def _header_of(line: str) -> tuple[str, ...] | None:
    """The path that a header names; None for any other line."""
    if not _HEADER.match(line):
        return None
    try:
        at: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(at, (dict, list)) and at:
        if isinstance(at, list):
            at = at[0]
            continue
        key = next(iter(at))
        path.append(key)
        at = at[key]
    return tuple(path)


def _is_below(line: str, path: Sequence[str]) -> bool:
    header = _header_of(line)
    return header is not None and header[: len(path)] == tuple(path)


def _changed(
    whole: Mapping[str, Any], path: Sequence[str], table: Mapping[str, Any] | None
) -> dict[str, Any]:
    copy = dict(whole)
    if len(path) > 1:
        copy[path[0]] = _changed(copy.get(path[0], {}), path[1:], table)
    elif table is None:
        del copy[path[0]]
    else:
        copy[path[0]] = dict(table)
    return copy


def _checked(new: str, wanted: dict[str, Any]) -> str:
    try:
        is_so = _pruned(read_toml(new)) == _pruned(wanted)
    except tomllib.TOMLDecodeError:
        is_so = False
    if not is_so:
        raise ValueError("expected a text in which one table can be changed, got one that is laid out oddly")
    return new


def _pruned(value: Any) -> Any:
    """Without empty tables: one whose last table is gone may be gone with it."""
    if not isinstance(value, dict):
        return value
    plain = {key: _pruned(each) for key, each in value.items()}
    return {key: each for key, each in plain.items() if each != {}}


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for one character that TOML wants to see escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    assert isinstance(value, (bool, int)), value
    return json.dumps(value)
