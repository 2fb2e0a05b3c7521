"""Parses regular expressions of Python, JavaScript and Java into trees. Pure.

Only what decides how a text is matched is kept: sets of characters, sequences, choices, repetitions and
assertions. Groups, names and greed are left out. A back reference counts as an assertion: what it matches is
known only once there is a text, and it may be empty. An expression with atomic groups or possessive
repetitions raises ValueError: what these match depends on more than the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.rules.vocabulary.character_properties import Ranges, characters_with, merged

_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part that repeats, without an upper limit if `most` is None."""

    part: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on the place in the text: its end, another one, or what stands around it."""

    kind: Literal["end", "place", "look"]


Tree: TypeAlias = Chars | Sequence | Choice | Repeat | Assertion


def inverted(ranges: Ranges) -> Ranges:
    """Return all other code points."""
    found, at = [], 0
    for low, high in ranges:
        if low > at:
            found.append((at, low - 1))
        at = high + 1
    return (*found, (at, _LAST)) if at <= _LAST else tuple(found)


def common(one: Ranges, other: Ranges) -> Ranges:
    """Return the code points that are in both."""
    return tuple(
        (max(low, first), min(high, last))
        for low, high in one
        for first, last in other
        if max(low, first) <= min(high, last)
    )


_DIGITS: Ranges = ((48, 57),)
_WORDS: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACES: Ranges = ((9, 13), (32, 32), (0xA0, 0xA0))
_CLASSES = {"d": _DIGITS, "w": _WORDS, "s": _SPACES, "h": ((9, 9), (32, 32)), "v": ((10, 13),)}
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27, "0": 0}
_COUNT = lazy_regex(r"\{(\d*)(,?)(\d*)\}")
_CODE = lazy_regex(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|x\{([0-9a-fA-F]+)\}")
_PROPERTY = lazy_regex(r"[pP]\{[^}]*\}|[pP]\w")
_OPEN = lazy_regex(r"\(\?(?:P?<(?![=!])\w+>|[aiLmsux-]*:)|\((?!\?)")
_LOOK = lazy_regex(r"\(\?<?[=!]")
_FLAGS = lazy_regex(r"\(\?([aiLmsux]+)\)")
_COMMENT = lazy_regex(r"\(\?#[^)]*\)")
_BACK = lazy_regex(r"\\(?:[1-9]\d?|k(?:<\w+>|\{\w+\}|'\w+'))|\(\?P=\w+\)")


def parse_expression(text: str, language: str, flags: str = "") -> Tree:
    """Return the tree of an expression; flags as in `(?ims)`. Raises ValueError if it cannot be read."""
    return _Reader(text, language, flags).whole()


class _Reader:
    """A reader of one expression."""

    def __init__(self, text: str, language: str, flags: str) -> None:
        self.text = text
        self.language = language
        self.at = 0
        self.flags = flags

    def whole(self) -> Tree:
        tree = self._choice()
        if self.at < len(self.text):
            raise ValueError("a parenthesis too many")
        return tree

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _choice(self) -> Tree:
        parts = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        while self._next() not in ("", "|", ")"):
            if self._take(_COMMENT):
                continue
            if found := self._take(_FLAGS):
                self.flags += found[1]
                continue
            if "x" in self.flags and (self._next().isspace() or self._next() == "#"):
                self._skip_space()
                continue
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _skip_space(self) -> None:
        if self._next() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            self.at += 1

    def _repeated(self, part: Tree) -> Tree:
        sign = self._next()
        if sign in ("*", "+", "?") and sign:
            self.at += 1
            least, most = (1 if sign == "+" else 0), (1 if sign == "?" else None)
        elif (found := _COUNT.match(self.text, self.at)) and (found[1] or found[3]):
            self.at = found.end()
            least = int(found[1] or 0)
            most = int(found[3]) if found[3] else None if found[2] else least
        else:
            return part
        if self._next() == "+":
            raise ValueError("possessive")
        if self._next() == "?":
            self.at += 1
        return Repeat(part, least, most)

    def _atom(self) -> Tree:
        if self._take(_BACK):
            return Assertion("place")
        sign = self._next()
        if sign == "(":
            return self._group()
        if sign == "[":
            self.at += 1
            return Chars(self._folded(self._set()))
        self.at += 1
        if sign == ".":
            return Chars(((0, _LAST),) if "s" in self.flags else inverted(((10, 10), (13, 13))))
        if sign == "$":
            return Assertion("end")
        if sign == "^":
            return Assertion("place")
        if sign != "\\":
            return Chars(self._folded(((ord(sign), ord(sign)),)))
        if (letter := self._next()) in ("b", "B", "A", "G"):
            self.at += 1
            return Assertion("place")
        if letter in ("z", "Z"):
            self.at += 1
            return Assertion("end")
        return Chars(self._folded(self._escape(in_set=False)))

    def _group(self) -> Tree:
        if self._take(_LOOK):
            self._choice()
            self._close()
            return Assertion("look")
        if not self._take(_OPEN):
            raise ValueError("a group that is not known")
        tree = self._choice()
        self._close()
        return tree

    def _close(self) -> None:
        if self._next() != ")":
            raise ValueError("a parenthesis is missing")
        self.at += 1

    def _escape(self, *, in_set: bool) -> Ranges:
        """Read what follows a backslash."""
        if found := self._take(_CODE):
            code = int(next(each for each in found.groups() if each), 16)
            return ((code, code),)
        if found := self._take(_PROPERTY):
            named = characters_with(found[0][1:].strip("{}").removeprefix("^"))
            return (
                named if (found[0][0] == "p") is not found[0].startswith(("p{^", "P{^")) else inverted(named)
            )
        letter = self._next()
        if not letter or letter in ("k", "Q", "E", "R", "X", "N", "c"):
            raise ValueError("an escape that is not known")
        self.at += 1
        if letter in _CLASSES and (letter not in "hv" or self.language == "java"):
            return _CLASSES[letter]
        if letter.lower() in ("d", "w", "s") and letter.isupper():
            return inverted(_CLASSES[letter.lower()])
        code = 8 if letter == "b" else _CONTROLS.get(letter, ord(letter))
        return ((code, code),)

    def _set(self) -> Ranges:
        ranges: list[tuple[int, int]] = []
        negated = self._next() == "^"
        self.at += negated
        while (sign := self._next()) != "]" or (not ranges and self._begins_with_bracket()):
            nested = self.language == "java" and (sign == "[" or self.text.startswith("&&", self.at))
            if not sign or nested:
                raise ValueError("a set that is not known")
            self.at += 1
            item = self._escape(in_set=True) if sign == "\\" else ((ord(sign), ord(sign)),)
            dash = self._next() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "")
            if dash and len(item) == 1 and item[0][0] == item[0][1]:
                self.at += 1
                last = self._next()
                self.at += 1
                high = self._escape(in_set=True) if last == "\\" else ((ord(last), ord(last)),)
                if high[0][0] < item[0][0]:
                    raise ValueError("a range that is empty")
                ranges.append((item[0][0], high[0][0]))
            else:
                ranges += item
        self.at += 1
        whole = merged(ranges)
        return inverted(self._folded(whole)) if negated else whole

    def _begins_with_bracket(self) -> bool:
        """Return whether a bracket is a member: `[]a]` in Python and Java."""
        return self.language == "python"

    def _folded(self, ranges: Ranges) -> Ranges:
        """Return ranges with both cases of letters, if case does not count."""
        if "i" not in self.flags:
            return ranges
        upper = [(low - 32, high - 32) for low, high in common(ranges, ((97, 122),))]
        lower = [(low + 32, high + 32) for low, high in common(ranges, ((65, 90),))]
        return merged([*ranges, *upper, *lower])
