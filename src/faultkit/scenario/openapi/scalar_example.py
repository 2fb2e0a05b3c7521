"""Examples of texts (by format, pattern and length) and of numbers (a small one within the bounds). Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from faultkit.scenario.openapi.patterns import LONGEST, text_matching

PLAIN = "string"

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
            if text is not None and _is_within(text, shortest, longest) and _matches(text, pattern):
                return text
    if base is not None:
        return _long_enough(base, str(format_), shortest)
    text = PLAIN.ljust(shortest, "a")
    return text if longest is None else text[:longest]


def _long_enough(base: str, format_: str, shortest: int) -> str:
    missing = shortest - len(base)
    if missing <= 0:
        return base
    if format_ == "byte":
        return "ZXhh" * (-(-missing // 4)) + base
    behind, before = _LONGER.get(format_, ("", ""))
    return before * missing + base + behind * missing


def _is_within(text: str, shortest: int, longest: int | None) -> bool:
    return shortest <= len(text) and (longest is None or len(text) <= longest)


def _matches(text: str, pattern: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True  # A dialect of expressions that `re` cannot check.


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
