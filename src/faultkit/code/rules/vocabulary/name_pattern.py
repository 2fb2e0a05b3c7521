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

from faultkit.base.patterns import lazy_regex

_Find: TypeAlias = Callable[[str], re.Match[str] | None]

_KEPT = 2048
"""Answers of each expression: more than the different names of a large file."""


_LETTERS = lazy_regex(r"(?<!\\)[A-Z]")
"""Letters of an expression that are none of an escape such as `\\W`."""


class NamePattern:
    """An expression that keeps its latest answers. It is compiled when it is first used: most runs of the
    program need few of them."""

    __slots__ = ("_expression", "_flags", "fullmatch", "match", "search")

    search: _Find
    match: _Find
    fullmatch: _Find

    def __init__(self, expression: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._expression = expression
        self._flags = flags

    def __getattr__(self, name: str) -> _Find:
        # Only while an attribute is not set; afterwards it is found without this.
        if name not in ("search", "match", "fullmatch"):
            raise AttributeError(name)
        compiled = re.compile(self._expression, self._flags)
        is_small = bool(self._flags & re.IGNORECASE)
        search: _Find = _searching_in_small_letters(compiled) if is_small else compiled.search
        self.search = lru_cache(maxsize=_KEPT)(search)
        self.match = lru_cache(maxsize=_KEPT)(compiled.match)
        self.fullmatch = lru_cache(maxsize=_KEPT)(compiled.fullmatch)
        return {"search": self.search, "match": self.match, "fullmatch": self.fullmatch}[name]


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
