"""Expressions over whole texts: bodies of functions, loops and handlers. Most of them have no match there.

Python's `re` tries every alternative at every character, and takes several times as long if capitals do not
count. RE2 reads each character once, whatever the number of alternatives is. So a text is first given to RE2,
with the same expression without what RE2 does not know, and to `re` only if RE2 finds a match. For names,
which are short and come again, use `NamePattern`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, AnyStr, Generic

from faultkit.base.patterns import lazy_regex, utf8_finder

_SHORT = 60
"""Characters up to which `re` is as fast alone."""
_SPACES = r"\s\v\x1c-\x1f"
"""What `\\s` of Python means in ASCII."""
_BEYOND_ASCII = r"\x{80}-\x{10FFFF}"
_MEANS_MORE = lazy_regex(r"\\[wds]")
_NOT_OF_RE2 = "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}\N{LATIN SMALL LETTER DOTLESS I}"
"""Letters that are an `i` to Python if case does not count."""
_PARTS = lazy_regex(r"\\.|\(\?<?[=!]|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_LOOKS_AROUND = lazy_regex(r"\(\?<?[=!]")
_SIGNS = {re.IGNORECASE: "i", re.DOTALL: "s", re.MULTILINE: "m"}


class TextPattern(Generic[AnyStr]):
    """An expression that most texts do not match, compiled when it is first used. Flags that count for all of
    it are given beside it."""

    def __init__(self, expression: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._expression: AnyStr = expression
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._expression, self._flags)

    def search(self, text: AnyStr) -> re.Match[AnyStr] | None:
        """Return the first match in a text, as `re` does."""
        return self._compiled.search(text) if self._may_be_in(text) else None

    def is_in(self, text: AnyStr) -> bool:
        """Return whether there is a match in a text; RE2 alone answers where it knows the whole
        expression."""
        if self._is_linear and len(text) > _SHORT and text.isascii():
            return self._found_in(text if isinstance(text, bytes) else text.encode())
        return self.search(text) is not None

    @cached_property
    def _is_linear(self) -> bool:
        expression = self._expression
        text = expression if isinstance(expression, str) else expression.decode("ascii")
        return _LOOKS_AROUND.search(text) is None

    def finditer(self, text: AnyStr) -> Iterator[re.Match[AnyStr]]:
        """Yield the matches in a text, as `re` does."""
        return self._compiled.finditer(text) if self._may_be_in(text) else iter(())

    def findall(self, text: AnyStr) -> list[Any]:
        """Return the matches in a text, as `re` does."""
        return self._compiled.findall(text) if self._may_be_in(text) else []

    def match(self, text: AnyStr) -> re.Match[AnyStr] | None:
        return self._compiled.match(text)

    def fullmatch(self, text: AnyStr) -> re.Match[AnyStr] | None:
        return self._compiled.fullmatch(text)

    def sub(self, new: AnyStr, text: AnyStr) -> AnyStr:
        return self._compiled.sub(new, text)

    def _may_be_in(self, text: AnyStr) -> bool:
        if len(text) <= _SHORT:
            return True
        if text.isascii():
            return self._found_in(text if isinstance(text, bytes) else text.encode())
        # To an expression of `re` over bytes, a character is several.
        if isinstance(text, bytes) or any(letter in text for letter in _NOT_OF_RE2):
            return True
        return self._found_beyond_ascii(text.encode("utf-8", "replace"))

    @cached_property
    def _found_in(self) -> Callable[[bytes], bool]:
        expression = self._expression
        text = expression if isinstance(expression, str) else expression.decode("ascii")
        return utf8_finder(linear_expression(text, self._flags))

    @cached_property
    def _found_beyond_ascii(self) -> Callable[[bytes], bool]:
        return utf8_finder(linear_expression(str(self._expression), self._flags, only_ascii=False))


def linear_expression(expression: str, flags: int = 0, *, only_ascii: bool = True) -> str:
    """Return an expression for RE2 that matches in every text in which this one of `re` does; by default, in
    every ASCII text.

    What must or must not stand before or after a match is left out, and the end of a text may be a line
    break. In other texts, letters, digits and spaces mean more to Python than to RE2: all other characters
    count as each of them. References to groups and conditions are not supported."""
    made = ["".join(f"(?{sign})" for flag, sign in _SIGNS.items() if flags & flag)]
    depth, left_out = 0, 0
    for found in _PARTS.finditer(expression):
        part = found[0]
        if part.startswith("(?"):
            depth += 1
            left_out = left_out or depth
            continue
        depth += (part == "(") - (part == ")")
        if left_out:
            left_out = 0 if depth < left_out else left_out
            continue
        made.append(_of_re2(part if only_ascii else _beyond_ascii(part), bool(flags & re.MULTILINE)))
    return "".join(made)


def _beyond_ascii(part: str) -> str:
    """Return a part that matches what it matches in Python in texts that are not ASCII, and more."""
    if part in (r"\b", r"\B"):
        return ""
    if part in (r"\w", r"\d", r"\s"):
        return f"[{part}{_BEYOND_ASCII}]"
    if part.startswith("[^"):
        return r"[\x{0}-\x{10FFFF}]" if re.search(r"\\[WDS]", part) else part
    return _MEANS_MORE.sub(lambda found: _BEYOND_ASCII + found[0], part, count=1) if part[0] == "[" else part


def _of_re2(part: str, is_by_line: bool) -> str:
    if part == "$" and not is_by_line:
        return r"(?:\n?\z)"
    if part == r"\s":
        return f"[{_SPACES}]"
    if part.startswith("[") and not part.startswith("[^"):
        return part.replace(r"\s", _SPACES)
    return r"\z" if part == r"\Z" else part
