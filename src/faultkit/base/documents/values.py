"""Readers of single values: texts, numbers, times and seeds. Each returns the checked value or raises
InputError.

The errors have no path: the caller knows the place of the value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TypeGuard

from faultkit.base.documents.checks import advice, shown
from faultkit.base.documents.checks import number as any_number
from faultkit.base.documents.checks import text as any_text
from faultkit.base.documents.checks import whole_number as any_whole
from faultkit.base.documents.key_tables import Schema
from faultkit.base.errors import InputError
from faultkit.base.patterns import LinearPattern
from faultkit.base.units import parse_duration

DURATION = 'a duration with its unit such as "10s" or "1h 30m"'
DURATION_SCHEMA: Schema = {"type": "string", "pattern": r"^\s*[0-9.].*[A-Za-zµ]\s*$"}
TEXT_SCHEMA: Schema = {"type": "string", "minLength": 1}
SWITCH_SCHEMA: Schema = {"type": "boolean"}
MILLISECONDS = 'a number of milliseconds {} or a duration with its unit such as "500ms"'


def span_schema(bound: Schema) -> Schema:
    """Return the JSON Schema of a time: a number of milliseconds within bounds, or text with a unit."""
    return {"anyOf": [{"type": "number", **bound}, DURATION_SCHEMA]}


def text(value: object) -> str:
    """Read a text that is not empty."""
    return any_text(value, "a text", "")


def line(value: object) -> str:
    """Read a text on one line, for headings and tables."""
    given = text(value)
    if not given.isprintable():
        raise InputError("", f"expected a text on one line, got {shown(value)}")
    return given


def switch(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise InputError("", f"expected true or false, got {shown(value)}")
    return value


def choice(choices: tuple[str, ...]) -> Callable[[object], str]:
    """Return a reader of one of these words."""

    def read(value: object) -> str:
        if value not in choices or not isinstance(value, str):
            hint = f"; {advice(value, choices)}" if "?" in advice(value, choices) else ""
            raise InputError("", f"expected one of {', '.join(choices)}, got {shown(value)}{hint}")
        return value

    return read


def number(expected: str, fits: Callable[[float], bool] = isfinite) -> Callable[[object], float]:
    """Return a reader of a finite number for which `fits` holds."""

    def read(value: object) -> float:
        given = any_number(value, expected, "")
        try:
            given = float(given)
        except OverflowError:
            raise InputError("", f"expected {expected}, got {shown(value)}") from None
        if not isfinite(given) or not fits(given):
            raise InputError("", f"expected {expected}, got {shown(value)}")
        return given

    return read


def whole_number(least: int, most: int) -> Callable[[object], int]:
    """Return a reader of a whole number within bounds."""
    expected = f"a whole number from {least} to {most}"

    def read(value: object) -> int:
        given = any_whole(value, expected, "")
        if not least <= given <= most:
            raise InputError("", f"expected {expected}, got {shown(value)}")
        return given

    return read


def duration_s(value: object) -> float:
    """Read a duration above 0 in seconds. A bare number is refused: its unit would be unclear."""
    seconds = _seconds(value)
    if not seconds:
        raise InputError("", f"expected {DURATION}, got {shown(value)}")
    return seconds


def milliseconds(value: object) -> float:
    """Read a time above 0 in milliseconds: a number, or text with a unit."""
    if not isinstance(value, str):
        return number(MILLISECONDS.format("above 0"), _positive)(value)
    # The product may be off by the last bit: 0.0011 s are 1.1 ms, not 1.1000000000000003.
    return round(time_limit_s(value) * 1000, 9)


def time_limit_s(value: object) -> float:
    """Read a time above 0 in seconds: a number of milliseconds, or text with a unit."""
    return _span_s(value, "above 0", _positive)


def pause_s(value: object) -> float:
    """Read a time of at least 0 in seconds: a number of milliseconds, or text with a unit."""
    return _span_s(value, "of at least 0", lambda time: time >= 0)


def _positive(value: float) -> bool:
    return value > 0


def _span_s(value: object, bound: str, fits: Callable[[float], bool]) -> float:
    expected = MILLISECONDS.format(bound)
    if not isinstance(value, str):
        return number(expected, fits)(value) / 1000
    seconds = _seconds(value)
    if seconds is None or not fits(seconds):
        raise InputError("", f"expected {expected}, got {shown(value)}")
    return seconds


def _seconds(value: object) -> float | None:
    # A text with a unit ends with a letter.
    if not isinstance(value, str) or not value.strip()[-1:].isalpha():
        return None
    try:
        return parse_duration(value)
    except ValueError:
        return None


# --- seeds: formats differ in what they accept, hence the parameters ---------------------------

SEED_FORM = "a whole number of at least 0 or a text"


def read_pattern(value: str) -> LinearPattern:
    """Compile the pattern of a document. Raises InputError."""
    try:
        return LinearPattern(value)
    except ValueError as error:
        raise InputError("", f"expected a regular expression, got {shown(value)}: {error}") from None


def is_seed(value: object, *, negative: bool = False, empty: bool = False) -> TypeGuard[int | str]:
    """Return whether a value of a document is a seed.

    negative: whether numbers below 0 are accepted, as in chaos experiments
    empty:    whether an empty text is accepted"""
    if isinstance(value, str):
        return empty or value != ""
    return isinstance(value, int) and not isinstance(value, bool) and (negative or value >= 0)


def read_seed(value: object, *, negative: bool = False, empty: bool = False) -> int | str:
    """Return the seed in a document, or raise InputError; see `is_seed`."""
    if not is_seed(value, negative=negative, empty=empty):
        form = "a whole number or a text" if negative else SEED_FORM
        raise InputError("", f"expected {form}, got {shown(value)}")
    return value


def seed_of_text(text: str, longest: int | None = None) -> int | str:
    """Return the seed that a command line gives: digits are a number, as they are in a document.

    More than `longest` digits stay a text. Without a limit, more digits than Python reads as a number (4,300)
    raise ValueError."""
    is_number = text.isascii() and text.isdigit() and (longest is None or len(text) <= longest)
    return int(text) if is_number else text
