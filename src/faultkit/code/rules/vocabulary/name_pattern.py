"""Expressions over the names of calls, of their objects and of types, which remember their answers.

Rules ask the same of every call, and the same names come again in every file: `append`, `get`, `fmt.Errorf`.
To look an answer up takes a fraction of the time of a search. For whole texts, which do not come again, use
`re.compile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

_Find: TypeAlias = Callable[[str], re.Match[str] | None]

_KEPT = 2048
"""Answers of each expression: more than the different names of a large file."""


_LETTERS = re.compile(r"(?<!\\)[A-Z]")
"""Letters of an expression that are none of an escape such as `\\W`."""


class NamePattern:
    """A compiled expression that keeps its latest answers."""

    __slots__ = ("fullmatch", "match", "search")

    def __init__(self, expression: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        compiled = re.compile(expression, flags)
        search: _Find = compiled.search
        if flags & re.IGNORECASE:
            search = _searching_in_small_letters(compiled)
        self.search: _Find = lru_cache(maxsize=_KEPT)(search)
        self.match: _Find = lru_cache(maxsize=_KEPT)(compiled.match)
        self.fullmatch: _Find = lru_cache(maxsize=_KEPT)(compiled.fullmatch)


def _searching_in_small_letters(compiled: re.Pattern[str]) -> _Find:
    """Return a function that searches as the expression does, which has the flag IGNORECASE.

    Most names do not match, and Python finds that out several times faster if case counts: so a name is
    looked at in small letters first, by the same expression in small letters."""
    small = re.compile(_LETTERS.sub(lambda found: found[0].lower(), compiled.pattern), re.ASCII)

    def search(name: str) -> re.Match[str] | None:
        if name.isascii() and small.search(name.lower()) is None:
            return None
        return compiled.search(name)

    return search
