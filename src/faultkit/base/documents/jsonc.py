"""JSON as people keep it in config files, with comments and trailing commas: what it says, and where. Pure.

Whoever changes such a file knows from here which bytes to leave alone; how to change it is not known here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

BOM = "\ufeff"
_SKIPPED = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")


@dataclass(frozen=True, slots=True)
class Value:
    start: int
    end: int
    plain: Any
    members: tuple[Member, ...] = ()
    """In the order of the text; of an object only."""

    def get(self, key: str) -> Value | None:
        """Of a key that is there twice, the last counts, as for every reader."""
        return next((each.value for each in reversed(self.members) if each.key == key), None)


@dataclass(frozen=True, slots=True)
class Member:
    start: int
    key: str
    value: Value
    comma: int | None
    """Where the comma behind it is."""


def read_jsonc(text: str) -> Any:
    """What it says. Raises ValueError with the line. Of a key that is there twice, the last counts."""
    return parse_jsonc(text).plain


def parse_jsonc(text: str, *, once: bool = False) -> Value:
    """What it says, and where. An empty text is an empty object, to which anything can be added. Raises
    ValueError with the line. `once`: that no key is there twice is looked after, too."""
    return _Reader(text if text.removeprefix(BOM).strip() else "{}", once).whole()


def kind_of(plain: Any) -> str:
    """In a word, for messages."""
    kinds = ((dict, "an object"), (list, "a list"), (str, "a text"), (bool, "true or false"))
    usual = "null" if plain is None else "a number"
    return next((name for kind, name in kinds if isinstance(plain, kind)), usual)


class _Reader:
    def __init__(self, text: str, once: bool) -> None:
        self._text = text
        self._once = once
        self._at = 1 if text.startswith(BOM) else 0

    def whole(self) -> Value:
        try:
            value = self._value()
        except RecursionError:
            raise ValueError("expected JSON, got too many levels of it") from None
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("nothing more")
        return value

    def _skip(self) -> None:
        found = _SKIPPED.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _next(self) -> str:
        self._skip()
        return self._text[self._at : self._at + 1]

    def _value(self) -> Value:
        sign, start = self._next(), self._at
        if sign == "{":
            return self._object()
        if sign == "[":
            return self._list()
        if sign == '"':
            text = self._string()
            return Value(start, self._at, text)
        found = _WORD.match(self._text, self._at)
        if found is None:
            raise self._wrong("a value")
        try:
            plain = json.loads(found[0], parse_constant=_no_constant)
        except ValueError:
            raise self._wrong("a value") from None
        self._at = found.end()
        return Value(start, self._at, plain)

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._wrong("a text in quotes that ends on its line")
        try:
            plain: str = json.loads(found[0])
        except ValueError:
            raise self._wrong("a text with escapes that JSON knows") from None
        self._at = found.end()
        return plain

    def _object(self) -> Value:
        start = self._at
        self._at += 1
        members: list[Member] = []
        while self._next() != "}":
            if members and members[-1].comma is None:
                raise self._wrong("a comma or a closing brace")
            begin = self._at
            if self._next() != '"':
                raise self._wrong("a name in quotes or a closing brace")
            key = self._string()
            if self._once and any(each.key == key for each in members):
                raise ValueError(f"line {self._line()}: key {json.dumps(key)} is given twice")
            if self._next() != ":":
                raise self._wrong("a colon")
            self._at += 1
            value = self._value()
            members.append(Member(begin, key, value, self._comma()))
        self._at += 1
        return Value(start, self._at, {each.key: each.value.plain for each in members}, tuple(members))

    def _list(self) -> Value:
        start = self._at
        self._at += 1
        items: list[Any] = []
        goes_on = True
        while self._next() != "]":
            if not goes_on:
                raise self._wrong("a comma or a closing bracket")
            items.append(self._value().plain)
            goes_on = self._comma() is not None
        self._at += 1
        return Value(start, self._at, items)

    def _comma(self) -> int | None:
        if self._next() != ",":
            return None
        self._at += 1
        return self._at - 1

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _wrong(self, wanted: str) -> ValueError:
        line = self._line()
        came = self._text[self._at : self._at + 20].splitlines()
        return ValueError(f"line {line}: expected {wanted}, got {came[0]!r}" if came else _ends(line, wanted))


def _ends(line: int, wanted: str) -> str:
    return f"line {line}: expected {wanted}, got the end of the text"


def _no_constant(name: str) -> Any:
    raise ValueError(name)
