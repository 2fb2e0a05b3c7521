"""JSON objects as text: find members in incomplete text, and replace values without changing anything else.
Pure.

The gateway promises that messages pass byte for byte, so it edits the text instead of encoding it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from faultkit.mcp.wire.message import encode

_MOST_SCANNED = 1 << 20
"""Bytes of an incomplete object in which members are looked for."""
_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
_PLAIN = _TEXT + rb"|-?\d++(?=\s*+[,}])"
_TOKEN = re.compile(_TEXT + rb"|[{}\[\]]", re.DOTALL)
_VALUE = re.compile(rb"\s*+:\s*+(" + _PLAIN + rb")?", re.DOTALL)
_LAST_MEMBER = rb'\s*+"(?:id|jsonrpc)"\s*+:\s*+(?:' + _PLAIN + rb")\s*+"
_LAST_MEMBERS = re.compile(rb",(" + _LAST_MEMBER + rb"(?:," + _LAST_MEMBER + rb")*+)\}\s*+\Z", re.DOTALL)
"""Members that some servers write after a long result."""
_DECODER = json.JSONDecoder()
_BLANKS = " \t\n\r"


def members(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """Yield the names of an object with the start and end of each value; nothing if the text is no object."""
    place = _skip(text, begin)
    if text[place] != "{":
        return
    place = _skip(text, place + 1)
    while text[place] == '"':
        name, place = _DECODER.raw_decode(text, place)
        start = _skip(text, _skip(text, place) + 1)
        _, place = _DECODER.raw_decode(text, start)
        yield name, start, place
        place = _skip(text, place)
        if text[place] != ",":
            return
        place = _skip(text, place + 1)


def visible_members(head: bytes, tail: bytes = b"") -> dict[str, str | int | None]:
    """Return the members that can be seen in the beginning and the end of an object that cannot be parsed.

    None stands for a value that is neither a string nor an integer."""
    found = _scan(head)
    last = _LAST_MEMBERS.search(tail)
    return found if last is None else {**_scan(b"{" + last[1] + b"}"), **found}


def _scan(text: bytes) -> dict[str, str | int | None]:
    found: dict[str, str | int | None] = {}
    depth = 0
    for token in _TOKEN.finditer(text, 0, _MOST_SCANNED):
        sign = token[0]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        elif depth == 1 and (value := _VALUE.match(text, token.end())) is not None:
            name = _scalar(sign)
            if isinstance(name, str):
                found[name] = None if value[1] is None else _scalar(value[1])
    return found


def _scalar(text: bytes) -> str | int | None:
    """Return a string or an integer; None for any other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if type(value) is str or type(value) is int else None


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANKS:
        place += 1
    return place


Path: TypeAlias = tuple[str, ...]


def replace_values(raw: bytes, values: Mapping[Path, object]) -> bytes:
    """Return the text with other values at these paths; a path that it lacks is not added.

    `raw` must be a valid JSON object."""
    text = raw.decode("utf-8")
    spans = [(span, value) for path, value in values.items() if (span := span_of(text, path)) is not None]
    for (begin, end), value in sorted(spans, key=lambda each: each[0], reverse=True):
        text = text[:begin] + encode(value).decode("utf-8") + text[end:]
    return text.encode("utf-8")


def span_of(text: str, path: Path) -> tuple[int, int] | None:
    """Return the start and end of the value at this path; None if there is none."""
    begin, end = 0, len(text)
    for key in path:
        found = None
        for name, *span in members(text, begin):
            if name == key:
                # Of duplicate names the last one counts, as for JSON parsers.
                found = span
        if found is None:
            return None
        begin, end = found
    return begin, end
