"""The members of a JSON object where they stand in its text, which may end before the object does. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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


def whole_members(head: bytes) -> dict[str, Any]:
    """Of an object of which only the beginning is there: its members, as far as they are whole."""
    text = head.decode("utf-8", "replace")
    found: dict[str, Any] = {}
    try:
        for name, start, end in members(text, 0):
            # A number at the very end may go on behind it.
            if _skip(text, end) < len(text):
                found[name] = json.loads(text[start:end])
    except (ValueError, IndexError, RecursionError):
        # Here it is cut off.
        pass
    return found


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANKS:
        place += 1
    return place
