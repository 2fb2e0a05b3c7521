"""One table of a TOML file: set it, update it, or remove it. Pure.

`tomlkit` parses the file with its comments and layout and writes it back to the byte; only values that differ
change. The result is parsed again, and a result other than the intended one is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.items import Comment, Table, Whitespace

_CUT = "\0\n"
"""Stands for a table that was removed. No TOML text contains NUL."""
_BOM = "\ufeff"
_ODD_LAYOUT = "expected a text in which one table can be changed, got one that is laid out oddly"


def read_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError with the place of a mistake."""
    return tomllib.loads(text.removeprefix(_BOM))


def toml_table(path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the text of a table: a header and a line for each value."""
    header = f"[{tomlkit.key(list(path)).as_string()}]"
    return "\n".join([header, *(_line(key, value) for key, value in values.items())]) + "\n"


def with_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the text with these values set in the table; its other values stay."""
    if text.startswith(_BOM):
        return _BOM + with_table(text.removeprefix(_BOM), path, values)
    there = _table(read_toml(text), path)
    newline = "\r\n" if "\r\n" in text else "\n"
    if there is None:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        new = text + gap + toml_table(path, values).replace("\n", newline)
    else:
        document = _parsed(text)
        with_header = (table for table in _tables(document, path) if not table.is_super_table())
        table = next(with_header, None)
        if table is None:
            raise ValueError(f"expected a header [{'.'.join(path)}], got the table in another form")
        _set_values(table, values, newline)
        new = document.as_string()
    return _verified(new, _with_change(read_toml(text), path, {**(there or {}), **values}))


def table_span(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return where the table and its subtables are in the text: from its header to the end of its last value.

    Raises ValueError if it has no header, or if other tables stand between its parts."""
    if text.startswith(_BOM):
        begin, end = table_span(text.removeprefix(_BOM), path)
        return begin + len(_BOM), end + len(_BOM)
    document = _parsed(text)
    tails = [tail for parent in _tables(document, path[:-1]) for tail in _cut_out(parent.value, path[-1])]
    pieces = document.as_string().split(_CUT)
    if len(pieces) != 2:
        raise ValueError(f"it is not in one place under a header [{'.'.join(path)}]")
    begin, end = len(pieces[0]), len(text) - len(pieces[1]) - len(tails[0])
    if not text.startswith("[", begin):
        raise ValueError(f"it has no header [{'.'.join(path)}]")
    return begin, end


def without_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table and its subtables."""
    if text.startswith(_BOM):
        return _BOM + without_table(text.removeprefix(_BOM), path)
    content = read_toml(text)
    if _table(content, path) is None:
        return text
    document = _parsed(text)
    tails = [_cut_out(parent.value, path[-1]) for parent in _tables(document, path[:-1])]
    before, *pieces = document.as_string().split(_CUT)
    for tail, piece in zip((each for cuts in tails for each in cuts), pieces, strict=True):
        before = _without_trailing_blank_lines(before) + tail + piece
    return _verified(before, _with_change(content, path, None))


def _parsed(text: str) -> tomlkit.TOMLDocument:
    document = tomlkit.parse(text)
    if document.as_string() != text:
        # `tomlkit` moves a subtable that stands apart from its table in some files.
        raise ValueError(_ODD_LAYOUT)
    return document


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


def _tables(container: Container, path: Sequence[str]) -> Iterator[Table]:
    """Yield the table's parts. There are several if other tables stand between its subtables."""
    for _, item in _parts(container, path[0]):
        if len(path) == 1:
            yield item
        else:
            yield from _tables(item.value, path[1:])


def _parts(container: Container, name: str) -> Iterator[tuple[int, Table]]:
    """Yield the tables of this name that have a header, each with its place in the container."""
    for place, (key, item) in enumerate(container.body):
        if key is not None and key.key == name and not key.is_dotted() and isinstance(item, Table):
            yield place, item


def _set_values(table: Table, values: Mapping[str, Any], newline: str) -> None:
    """Set the values that differ; new keys follow the table's last one."""
    body = table.value.body
    new = []
    for key, value in values.items():
        there = table.get(key)
        if there is None:
            new.append(_line(key, value) + newline)
        elif isinstance(there, Table) and isinstance(value, Mapping):
            _set_values(there, value, newline)
        elif there.unwrap() != value:
            table[key] = tomlkit.value(_value_text(value))
    if new:
        own = [place for place, (key, item) in enumerate(body) if key and not isinstance(item, Table)]
        place = own[-1] if own else -1
        last = body[place][1] if own else table
        if not last.trivia.trail:  # The file ends without a newline.
            last.trivia.trail = newline
        body.insert(place + 1, (None, Whitespace("".join(new), fixed=True)))


def _cut_out(container: Container, name: str) -> list[str]:
    """Replace a table by `_CUT`; return the blank lines and comments that followed it.

    For `tomlkit` they end the table; to a reader they belong to the table that follows."""
    tails = []
    for place, table in _parts(container, name):
        tails.append(_tail(table))
        container.body[place] = (None, Whitespace(_CUT, fixed=True))
    return tails


def _tail(table: Table) -> str:
    tail = ""
    for _, item in reversed(table.value.body):
        if isinstance(item, Table):
            return _tail(item) + tail
        if not isinstance(item, (Whitespace, Comment)):
            break
        tail = item.as_string() + tail
    return tail


def _without_trailing_blank_lines(text: str) -> str:
    lines = text.splitlines(keepends=True)
    while lines and not lines[-1].strip():
        lines.pop()
    return "".join(lines)


def _with_change(
    whole: Mapping[str, Any], path: Sequence[str], table: Mapping[str, Any] | None
) -> dict[str, Any]:
    copy = dict(whole)
    if len(path) > 1:
        copy[path[0]] = _with_change(copy.get(path[0], {}), path[1:], table)
    elif table is None:
        del copy[path[0]]
    else:
        copy[path[0]] = dict(table)
    return copy


def _verified(new: str, wanted: dict[str, Any]) -> str:
    try:
        matches = _pruned(read_toml(new)) == _pruned(wanted)
    except tomllib.TOMLDecodeError:
        matches = False
    if not matches:
        raise ValueError(_ODD_LAYOUT)
    return new


def _pruned(value: Any) -> Any:
    """Return the value without empty tables, which removing a subtable may leave."""
    if not isinstance(value, dict):
        return value
    plain = {key: _pruned(each) for key, each in value.items()}
    return {key: each for key, each in plain.items() if each != {}}


def _line(key: str, value: Any) -> str:
    return f"{tomlkit.key(key).as_string()} = {_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_line(key, each) for key, each in value.items())} }}"
    text: str = tomlkit.item(value).as_string()
    return text
