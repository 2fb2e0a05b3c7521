"""A text that a regular expression matches, for the simple expressions that API documents have. Pure.

Supported: literals, escapes, classes, groups, alternatives, repeats, anchors at the ends. For others
(lookaround, back references) the result is None. Own code, because hypothesis and exrex give random texts.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import TypeAlias

Maker: TypeAlias = Callable[[int], str]
"""Takes the number of extra repetitions of each repeat; returns a text."""

LONGEST = 1000
_MOST_EXTRA = 64
_LETTERS = string.ascii_lowercase + string.ascii_uppercase
_KINDS = {"d": string.digits, "w": _LETTERS + string.digits + "_", "s": " "}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_ANY = _LETTERS + string.digits + " !#%&'()*+,-./:;<=>?@[]^_`{|}~\"$\\"
_REPEAT = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")


def text_matching(pattern: str, shortest: int = 0, longest: int | None = None) -> str | None:
    """Return a text that the pattern matches; None if the pattern is not simple or no text was found."""
    try:
        return _found(_Reader(pattern).whole(), re.compile(pattern), shortest, longest)
    except (_NotSimple, re.error, OverflowError, RecursionError):
        return None


def _found(maker: Maker, compiled: re.Pattern[str], shortest: int, longest: int | None) -> str | None:
    pattern = compiled.pattern
    anchored = "^" in pattern or "$" in pattern
    most = LONGEST if longest is None else min(longest, LONGEST)
    for extra in range(_MOST_EXTRA + 1):
        text = maker(extra)
        if len(text) > most:
            return None
        if not anchored:
            text = text.ljust(shortest, "a")
        if len(text) >= shortest:
            return text if compiled.search(text) else None
    return None


class _NotSimple(Exception):
    pass


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def whole(self) -> Maker:
        maker = self._alternatives()
        if self._at < len(self._pattern):
            raise _NotSimple
        return maker

    def _alternatives(self) -> Maker:
        """Return an example of the first alternative."""
        first = self._sequence()
        while self._take("|"):
            self._sequence()
        return first

    def _sequence(self) -> Maker:
        makers: list[Maker] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            atom = self._atom()
            least, most = self._repeat()
            makers.append(_repeated(atom, least, most))
        return lambda extra: "".join(maker(extra) for maker in makers)

    def _atom(self) -> Maker:
        mark = self._next()
        if mark in "^$":
            return _always("")
        if mark == ".":
            return _always("a")
        if mark == "(":
            if self._take("?") and not self._take(":"):
                raise _NotSimple
            inner = self._alternatives()
            if not self._take(")"):
                raise _NotSimple
            return inner
        if mark == "[":
            return _always(self._class())
        if mark == "\\":
            return _always(self._escape(inside_class=False)[0])
        if mark in "*+?{":
            raise _NotSimple
        return _always(mark)

    def _repeat(self) -> tuple[int, int]:
        least, most = 1, 1
        if self._take("*"):
            least, most = 0, LONGEST
        elif self._take("+"):
            least, most = 1, LONGEST
        elif self._take("?"):
            least, most = 0, 1
        elif found := _REPEAT.match(self._pattern, self._at):
            self._at = found.end()
            least = int(found[1])
            most = least if not found[2] else int(found[3]) if found[3] else LONGEST
        else:
            return 1, 1
        if not self._take("?"):
            self._take("+")
        return least, max(least, most)

    def _class(self) -> str:
        """Return one character of a class."""
        negated = self._take("^")
        members = ""
        while not self._take("]") or not members:
            first = self._member()
            following = self._pattern[self._at : self._at + 2]
            if len(first) == 1 and following.startswith("-") and following[1:] != "]":
                self._at += 1
                last = self._member()
                if len(last) != 1 or ord(last) < ord(first):
                    raise _NotSimple
                first = "".join(map(chr, range(ord(first), min(ord(last), ord(first) + 255) + 1)))
            members += first
        if not negated:
            return next((mark for mark in "a1A0" if mark in members), members[0])
        for mark in _ANY:
            if mark not in members:
                return mark
        raise _NotSimple

    def _member(self) -> str:
        mark = self._next()
        return self._escape(inside_class=True) if mark == "\\" else mark

    def _escape(self, *, inside_class: bool) -> str:
        """Return the characters that an escape stands for."""
        mark = self._next()
        if mark in _KINDS:
            return _KINDS[mark]
        if mark in _CONTROLS:
            return _CONTROLS[mark]
        if mark in ("x", "u"):
            digits = self._pattern[self._at : self._at + (2 if mark == "x" else 4)]
            self._at += len(digits)
            try:
                return chr(int(digits, 16))
            except ValueError:
                raise _NotSimple from None
        if not inside_class and mark in ("D", "S", "W"):
            return {"D": "a", "S": "a", "W": "-"}[mark]
        if mark.isalnum():
            raise _NotSimple
        return mark

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise _NotSimple
        self._at += 1
        return self._pattern[self._at - 1]

    def _take(self, mark: str) -> bool:
        taken = self._pattern.startswith(mark, self._at)
        self._at += len(mark) if taken else 0
        return taken


def _always(text: str) -> Maker:
    return lambda extra: text


def _repeated(maker: Maker, least: int, most: int) -> Maker:
    def make(extra: int) -> str:
        piece = maker(extra)
        times = min(least + extra, most)
        if len(piece) * times > LONGEST:
            return piece[:1] * (
                LONGEST + 1
            )  # Longer than any result may be: nested repeats could fill the memory.
        return piece * times

    return make
