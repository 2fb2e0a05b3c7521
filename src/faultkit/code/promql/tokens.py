"""PromQL as a list of tokens. Knows how words, numbers, durations and texts are written, and no grammar."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.code.promql.problem import Problem

TokenKind: TypeAlias = Literal["name", "number", "duration", "text", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    """As written; of a text what it says, without quotes and escapes."""
    at: int

    @property
    def word(self) -> str:
        """Keywords are the same in upper and lower case; empty if it is no name."""
        return self.text.lower() if self.kind == "name" else ""

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end"
        return f"the text {self.text[:40]!r}" if self.kind == "text" else repr(self.text[:40])


_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_IN_BRACKETS = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
"""There a colon stands between a range and its step."""
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = re.compile(
    rf"0[xX](?:_?[0-9a-fA-F])+|(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_RUN = re.compile(r"[0-9a-zA-Z_.]+")
_DURATION = re.compile(
    r"(?=[0-9])(?:([0-9]+)y)?(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?"
)
_UNITS_MS = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1)
_LONGEST_MS = 9_223_372_036_854
"""What 64 bits of nanoseconds hold."""
_SIGN = re.compile(r"==|!=|=~|!~|<=|>=|[-+*/%^<>=(){}\[\],:@]")
_ESCAPE = re.compile(
    r"""\\(?:([abfnrtv\\'"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))"""
)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def tokens_of(expression: str) -> list[Token]:
    """Ends with a token of the kind `end`."""
    tokens: list[Token] = []
    at, brackets = 0, 0
    while True:
        if space := _SPACE.match(expression, at):
            at = space.end()
        if at == len(expression):
            return [*tokens, Token("end", "", at)]
        token, at = _token(expression, at, _IN_BRACKETS if brackets else _NAME)
        brackets += {"[": 1, "]": -brackets}.get(token.text, 0) if token.kind == "sign" else 0
        tokens.append(token)


def duration_ms(text: str, at: int) -> int:
    """Of `1h30m`; units stand from the longest to the shortest, each once."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise Problem(at, f"expected a duration such as 5m or 1h30m, got {text[:40]!r}")
    # More digits than any duration has are not worth counting.
    if any(len(part or "") > 15 for part in found.groups()):
        raise Problem(at, "expected a duration of at most 292 years")
    total_ms = sum(int(part or 0) * unit for part, unit in zip(found.groups(), _UNITS_MS, strict=True))
    if total_ms > _LONGEST_MS:
        raise Problem(at, "expected a duration of at most 292 years")
    return total_ms


def number(text: str, at: int) -> float:
    bare = text.replace("_", "")
    if bare[:2].lower() == "0x":
        value = float(int(bare, 16)) if len(bare) <= 18 else math.inf
    else:
        value = float(bare)
    if math.isinf(value):
        raise Problem(at, f"expected a number that 64 bits hold, got {text[:40]!r}")
    return value


def _token(expression: str, at: int, name: re.Pattern[str]) -> tuple[Token, int]:
    char = expression[at]
    if char in "\"'`":
        return _text(expression, at)
    if found := name.match(expression, at):
        return Token("name", found[0], at), found.end()
    if char in "0123456789" or (char == "." and expression[at + 1 : at + 2].isdecimal()):
        return _number(expression, at)
    if found := _SIGN.match(expression, at):
        return Token("sign", found[0], at), found.end()
    raise Problem(at, f"unexpected character {char!r}")


def _number(expression: str, at: int) -> tuple[Token, int]:
    found = _NUMBER.match(expression, at)
    run = _RUN.match(expression, at)
    if run is None:
        raise Problem(at, f"unexpected character {expression[at]!r}")
    if found is not None and found.end() >= run.end():
        return Token("number", found[0], at), found.end()
    if _DURATION.fullmatch(run[0]):
        return Token("duration", run[0], at), run.end()
    raise Problem(at, f"expected a number or a duration such as 5m, got {run[0][:40]!r}")


def _text(expression: str, at: int) -> tuple[Token, int]:
    quote, place, said = expression[at], at + 1, list[str]()
    while place < len(expression):
        char = expression[place]
        if char == quote:
            return Token("text", "".join(said), at), place + 1
        if quote != "`" and char == "\n":
            break
        if quote != "`" and char == "\\":
            char, place = _escaped(expression, place, quote)
        else:
            place += 1
        said.append(char)
    raise Problem(at, f"a text that begins with {quote} has no end")


def _escaped(expression: str, at: int, quote: str) -> tuple[str, int]:
    found = _ESCAPE.match(expression, at)
    plain = found[1] if found else None
    if found is None or (plain in ("'", '"') and plain != quote):
        raise Problem(
            at, f"unknown escape {expression[at : at + 2]!r} in a text; a backslash is written \\\\"
        )
    if plain:
        return _ESCAPES.get(plain, plain), found.end()
    number = int(found[3], 8) if found[3] else int(found[2] or found[4] or found[5], 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000 or (found[3] and number > 255):
        raise Problem(at, f"{found[0]} is no character")
    return chr(number), found.end()
