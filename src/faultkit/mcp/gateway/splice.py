"""Other values in a JSON text, and nothing else changed: not its blanks, its escapes or its numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from faultkit.mcp.wire.members import members
from faultkit.mcp.wire.message import encode

Path: TypeAlias = tuple[str, ...]


def splice(raw: bytes, values: Mapping[Path, object]) -> bytes:
    """The text with these values in the places of those that it has there; a place that it lacks stays so.

    The text has to be a JSON object: whoever calls has parsed it."""
    text = raw.decode("utf-8")
    spans = [(span, value) for path, value in values.items() if (span := span_of(text, path)) is not None]
    for (begin, end), value in sorted(spans, key=lambda each: each[0], reverse=True):
        text = text[:begin] + encode(value).decode("utf-8") + text[end:]
    return text.encode("utf-8")


def span_of(text: str, path: Path) -> tuple[int, int] | None:
    """Where the value at this path begins and ends."""
    begin, end = 0, len(text)
    for key in path:
        found = None
        for name, *span in members(text, begin):
            if name == key:
                # Of several, the last one counts, as for every reader.
                found = span
        if found is None:
            return None
        begin, end = found
    return begin, end
