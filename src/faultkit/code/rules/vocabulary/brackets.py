"""Brackets in texts without a syntax tree, such as attributes and blocks that a pattern has found. Pure."""

from __future__ import annotations

_OPENS = {")": "(", "}": "{", "]": "["}


def end_of_bracket(text: str, start: int, closing: str) -> int | None:
    """Return the place of the bracket that closes the one opened before `start`; None if there is none."""
    opening, depth = _OPENS[closing], 1
    for at in range(start, len(text)):
        if text[at] == opening:
            depth += 1
        elif text[at] == closing:
            depth -= 1
            if depth == 0:
                return at
    return None
