"""The members of a JSON object where they stand in its text, which may end before the object does. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_MOST_SCANNED = 1 << 20
_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
_PLAIN = _TEXT + rb"|-?\d++(?=\s*+[,}])"
_TOKEN = re.compile(_TEXT + rb"|[{}\[\]]", re.DOTALL)
_VALUE = re.compile(rb"\s*+:\s*+(" + _PLAIN + rb")?", re.DOTALL)
_LAST_MEMBER = rb'\s*+"(?:id|jsonrpc)"\s*+:\s*+(?:' + _PLAIN + rb")\s*+"
_LAST_MEMBERS = re.compile(rb",(" + _LAST_MEMBER + rb"(?:," + _LAST_MEMBER + rb")*+)\}\s*+\Z", re.DOTALL)
"""What some servers write behind a long result."""
_DECODER = json.JSONDecoder()
_BLANKS = " \t\n\r"


def members(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """The names of an object, and where their values begin and end; none if it is no object."""
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


def plain_members(head: bytes, tail: bytes = b"") -> dict[str, str | int | None]:
    """Of an object that cannot be read, or of which only the beginning and the end are there: its members as
    far as they are seen; None stands for what is neither a text nor a whole number."""
    found = _seen(head)
    last = _LAST_MEMBERS.search(tail)
    return found if last is None else {**_seen(b"{" + last[1] + b"}"), **found}


def _seen(text: bytes) -> dict[str, str | int | None]:
    found: dict[str, str | int | None] = {}
    depth = 0
    for token in _TOKEN.finditer(text, 0, _MOST_SCANNED):
        sign = token[0]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        elif depth == 1 and (value := _VALUE.match(text, token.end())) is not None:
            name = _plain(sign)
            if isinstance(name, str):
                found[name] = None if value[1] is None else _plain(value[1])
    return found


def _plain(text: bytes) -> str | int | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if type(value) is str or type(value) is int else None


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANKS:
        place += 1
    return place
