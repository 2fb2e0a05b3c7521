"""Single values of a scenario file: texts, numbers and times, each checked, each with its own complaint.

Errors have no path: where a value stands is known to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from faultkit.base.documents.shape import advice, shown
from faultkit.base.documents.shape import number as any_number
from faultkit.base.documents.shape import text as any_text
from faultkit.base.documents.shape import whole as any_whole
from faultkit.base.errors import InputError
from faultkit.base.units import format_duration, parse_duration

DURATION = 'a duration with its unit such as "10s" or "1h 30m"'
MILLISECONDS = 'a number of milliseconds {} or a duration with its unit such as "500ms"'


def text(value: object) -> str:
    return any_text(value, "a text", "")


def line(value: object) -> str:
    """For what stands in headings and tables."""
    given = text(value)
    if not given.isprintable():
        raise InputError("", f"expected a text on one line, got {shown(value)}")
    return given


def switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError("", f"expected true or false, got {shown(value)}")
    return value


def choice(choices: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices or not isinstance(value, str):
            hint = f"; {advice(value, choices)}" if "?" in advice(value, choices) else ""
            raise InputError("", f"expected one of {', '.join(choices)}, got {shown(value)}{hint}")
        return value

    return read


def number(expected: str, fits: Callable[[float], bool] = isfinite) -> Callable[[object], float]:
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


def whole(least: int, most: int) -> Callable[[object], int]:
    expected = f"a whole number from {least} to {most}"

    def read(value: object) -> int:
        given = any_whole(value, expected, "")
        if not least <= given <= most:
            raise InputError("", f"expected {expected}, got {shown(value)}")
        return given

    return read


def duration_s(value: object) -> float:
    """A text with units, never a bare number: nobody can see whether that means seconds or milliseconds."""
    seconds = _seconds(value)
    if not seconds:
        raise InputError("", f"expected {DURATION}, got {shown(value)}")
    return seconds


def milliseconds(value: object) -> float:
    """More than 0: a number, or text with a unit."""
    if not isinstance(value, str):
        return number(MILLISECONDS.format("above 0"), _positive)(value)
    # The product may miss by the last bit: 0.0011 s are 1.1 ms, not 1.1000000000000003.
    return round(time_limit_s(value) * 1000, 9)


def time_limit_s(value: object) -> float:
    """More than 0: a number of milliseconds, or text with a unit."""
    return _span_s(value, "above 0", _positive)


def pause_s(value: object) -> float:
    """0 or more: a number of milliseconds, or text with a unit."""
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
    # Whatever has a unit ends with a letter.
    if not isinstance(value, str) or not value.strip()[-1:].isalpha():
        return None
    try:
        return parse_duration(value)
    except ValueError:
        return None


def dump_number(ms: float) -> int | float:
    """A number that reads well: 500, not 500.0."""
    return int(ms) if ms == int(ms) else ms


def dump_span(seconds: float) -> int | float | str:
    """Milliseconds where they give the very same time back, else text."""
    ms = dump_number(round(seconds * 1000, 9))
    return ms if ms / 1000 == seconds else format_duration(seconds)
