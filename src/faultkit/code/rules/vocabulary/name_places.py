"""Where a name stands in a text, without an expression for it: to compile one takes longer than to look.

What must follow the name is an expression that is the same for all names, matched where the name ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts


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


_WORD = lazy_regex(r"\w+")


def set_from(name: str, facts: Facts) -> list[Assignment]:
    """Return the assignments in whose values a name stands alone."""
    if _WORD.fullmatch(name):
        return _by_word(facts).get(name, [])
    return [each for each in facts.assignments if each.value is not None and has_name(name, each.value.text)]


@lru_cache(maxsize=4)
def _by_word(facts: Facts) -> dict[str, list[Assignment]]:
    """Return assignments by the words of their values."""
    found: dict[str, list[Assignment]] = {}
    for each in facts.assignments:
        for word in set() if each.value is None else {*_WORD.findall(each.value.text)}:
            found.setdefault(word, []).append(each)
    return found
