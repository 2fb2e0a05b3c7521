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


class NamePattern:
    """A compiled expression that keeps its latest answers."""

    __slots__ = ("fullmatch", "match", "search")

    def __init__(self, expression: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        compiled = re.compile(expression, flags)
        self.search: _Find = lru_cache(maxsize=_KEPT)(compiled.search)
        self.match: _Find = lru_cache(maxsize=_KEPT)(compiled.match)
        self.fullmatch: _Find = lru_cache(maxsize=_KEPT)(compiled.fullmatch)
