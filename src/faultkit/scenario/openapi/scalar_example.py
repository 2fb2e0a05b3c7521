"""Examples of texts (by format, pattern and length) and of numbers (a small one within the bounds). Pure.

`text_matching` finds a text for the simple regular expressions that API documents have: literals, escapes,
classes, groups, alternatives, repeats, anchors at the ends. For others (lookaround, back references) it
returns None. Own code, because hypothesis and exrex give random texts.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from faultkit.base.patterns import LinearPattern

PLAIN_TEXT = "string"

FORMATS: dict[str, str] = {
    "date": "2024-01-15",
    "date-time": "2024-01-15T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "email": "user@example.com",
    "idn-email": "user@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "iri": "https://example.com/",
    "uri-reference": "/example",
    "iri-reference": "/example",
    "uri-template": "/example/{id}",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "ZXhhbXBsZXM=",
    "binary": "binary",
    "password": "password",
    "regex": "^a$",
    "json-pointer": "/example",
    "relative-json-pointer": "0/example",
    "int64": "1",
    "decimal": "1.5",
}
_LONGER: dict[str, tuple[str, str]] = {
    "email": ("", "u"),
    "idn-email": ("", "u"),
    "uri": ("a", ""),
    "url": ("a", ""),
    "iri": ("a", ""),
    "uri-reference": ("a", ""),
    "iri-reference": ("a", ""),
    "binary": ("a", ""),
    "password": ("a", ""),
    "json-pointer": ("a", ""),
}
"""By format: the character to append, and the one to prepend, to make its example longer."""


def string_for(schema: Mapping[str, Any]) -> str:
    """Return a text of the pattern or the format, within the lengths; else `string`."""
    shortest, longest = _length(schema.get("minLength")) or 0, _length(schema.get("maxLength"))
    shortest = min(shortest, LONGEST)
    pattern, format_ = schema.get("pattern"), schema.get("format")
    base = FORMATS.get(format_) if isinstance(format_, str) else None
    if base is None and "contentEncoding" in schema:
        base = FORMATS["byte"]
    if isinstance(pattern, str):
        # The example of the format is easier to read, and may match the pattern.
        for text in (base, text_matching(pattern, shortest, longest)):
            if text is None or len(text) < shortest or (longest is not None and len(text) > longest):
                continue
            if _may_match(pattern, text):
                return text
    if base is not None:
        return _long_enough(base, str(format_), shortest)
    text = PLAIN_TEXT.ljust(shortest, "a")
    return text if longest is None else text[:longest]


def _long_enough(base: str, format_: str, shortest: int) -> str:
    missing = shortest - len(base)
    if missing <= 0:
        return base
    if format_ == "byte":
        return "ZXhh" * (-(-missing // 4)) + base
    behind, before = _LONGER.get(format_, ("", ""))
    return before * missing + base + behind * missing


def _length(value: object) -> int | None:
    return (
        int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
    )


_GUESSES = (1, 0)


def number_for(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    """Return 1 if it is allowed, else 0, else a number next to a bound. Without any such number: 1."""
    low, low_open = _tightest(schema, "minimum", "exclusiveMinimum", max)
    high, high_open = _tightest(schema, "maximum", "exclusiveMaximum", min)
    step = _exact(schema.get("multipleOf"))
    step = None if step is None or step <= 0 else step
    if whole:
        # A whole number that is a multiple of p/q is a multiple of p.
        step = Fraction(1) if step is None else Fraction(step.numerator)

    def allowed(value: Fraction) -> bool:
        above = low is None or (value > low if low_open else value >= low)
        below = high is None or (value < high if high_open else value <= high)
        return above and below and (step is None or value % step == 0)

    candidates = [Fraction(guess) for guess in _GUESSES]
    if step is not None:
        for bound, round_, away in ((low, math.ceil, 1), (high, math.floor, -1)):
            if bound is not None:
                nearest = round_(bound / step)
                candidates += [nearest * step, (nearest + away) * step]
        candidates.append(step)
    else:
        if low is not None and high is not None:
            candidates.append((low + high) / 2)
        candidates += [low] if low is not None else []
        candidates += [low + 1] if low is not None else []
        candidates += [high] if high is not None else []
        candidates += [high - 1] if high is not None else []
    chosen = next((value for value in candidates if allowed(value)), Fraction(1))
    return int(chosen) if chosen.denominator == 1 else float(chosen)


def _tightest(
    schema: Mapping[str, Any], bound: str, open_bound: str, tighter: Any
) -> tuple[Fraction | None, bool]:
    """Return the tighter bound and whether it is exclusive. Of equal bounds, the exclusive one is tighter."""
    closed, opened = _exact(schema.get(bound)), _exact(schema.get(open_bound))
    if opened is None:
        return closed, False
    if closed is None or tighter(closed, opened) == opened:
        return opened, True
    return closed, False


def _exact(value: object) -> Fraction | None:
    """Return the number by its digits as written: 0.1 is a tenth, not the nearest binary fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


# Texts for a pattern


TextMaker: TypeAlias = Callable[[int], str]
"""Takes the number of extra repetitions of each repeat; returns a text."""

LONGEST = 1000
"""The most characters of an example."""
_MOST_EXTRA = 64
_LETTERS = string.ascii_lowercase + string.ascii_uppercase
_KINDS = {"d": string.digits, "w": _LETTERS + string.digits + "_", "s": " "}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_ANY = _LETTERS + string.digits + " !#%&'()*+,-./:;<=>?@[]^_`{|}~\"$\\"
_REPEAT = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")


def _may_match(pattern: str, text: str) -> bool:
    """Return whether a text matches. A pattern that RE2 cannot read, such as one with lookarounds, may."""
    try:
        return LinearPattern(pattern).found_in(text)
    except ValueError:
        return True


def text_matching(pattern: str, shortest: int = 0, longest: int | None = None) -> str | None:
    """Return a text that the pattern matches; None if the pattern is not simple or no text was found."""
    try:
        return _first_text(_PatternReader(pattern).read(), LinearPattern(pattern), shortest, longest)
    except (_NotSimple, ValueError, OverflowError, RecursionError):
        return None


def _first_text(maker: TextMaker, compiled: LinearPattern, shortest: int, longest: int | None) -> str | None:
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
            return text if compiled.found_in(text) else None
    return None


class _NotSimple(Exception):
    """The pattern has a construct that is not supported."""


class _PatternReader:
    """A recursive descent parser of one pattern; each method reads one construct and returns its maker."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def read(self) -> TextMaker:
        """Return the maker of texts for the whole pattern. Raises _NotSimple."""
        maker = self._alternatives()
        if self._at < len(self._pattern):
            raise _NotSimple
        return maker

    def _alternatives(self) -> TextMaker:
        """Return an example of the first alternative."""
        first = self._sequence()
        while self._take("|"):
            self._sequence()
        return first

    def _sequence(self) -> TextMaker:
        makers: list[TextMaker] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            atom = self._atom()
            least, most = self._repeat()
            makers.append(_repeat_maker(atom, least, most))
        return lambda extra: "".join(maker(extra) for maker in makers)

    def _atom(self) -> TextMaker:
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


def _always(text: str) -> TextMaker:
    return lambda extra: text


def _repeat_maker(maker: TextMaker, least: int, most: int) -> TextMaker:
    def make(extra: int) -> str:
        piece = maker(extra)
        times = min(least + extra, most)
        if len(piece) * times > LONGEST:
            # Longer than any result may be: nested repeats could fill the memory.
            return piece[:1] * (LONGEST + 1)
        return piece * times

    return make
