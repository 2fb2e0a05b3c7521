"""Where a name stands in a text, without an expression for it: to compile one takes longer than to look.

What must follow the name is an expression that is the same for all names, matched where the name ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def ends_of_name(name: str, text: str) -> Iterator[int]:
    r"""Yield where a name ends, wherever it stands alone, as `(?<!\w)name\b` finds it; none for no name."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if not (start and _is_in_word(text[start - 1])) and is_boundary(text, end):
            yield end
        start = text.find(name, start + 1)


def has_name(name: str, text: str) -> bool:
    r"""Return whether a name stands alone in a text, as `(?<!\w)name\b` finds it."""
    return name in text and any(True for _ in ends_of_name(name, text))


def is_followed(name: str, after: re.Pattern[str], text: str) -> bool:
    """Return whether a name stands alone in a text and the expression matches right behind it."""
    return name in text and any(after.match(text, end) is not None for end in ends_of_name(name, text))


def is_boundary(text: str, place: int) -> bool:
    r"""Return whether a word begins or ends at a place, as `\b` does."""
    before = place > 0 and _is_in_word(text[place - 1])
    return before != (place < len(text) and _is_in_word(text[place]))


def _is_in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def has_word(name: str, text: str) -> bool:
    """Return whether a text has a name that begins and ends where words do."""
    start = text.find(name)
    while start >= 0:
        if is_boundary(text, start) and is_boundary(text, start + len(name)):
            return True
        start = text.find(name, start + 1)
    return False
