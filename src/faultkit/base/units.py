"""Durations as users write them: `10s`, `250ms`, `1h 30m`, or a bare number of seconds.

Pure: text to number and back. Callers check whether a duration is in their range.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

DURATION_FORM = 'a duration such as "10s", "250ms", "1h 30m" or a number of seconds'

_SECONDS_OF: dict[str, Fraction] = {
    name: Fraction(seconds)
    for names, seconds in (
        ("us µs", "0.000001"),
        ("ms", "0.001"),
        ("s sec secs second seconds", "1"),
        ("m min mins minute minutes", "60"),
        ("h hr hrs hour hours", "3600"),
        ("d day days", "86400"),
    )
    for name in names.split()
}
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_BARE = re.compile(_NUMBER, re.ASCII)
_PART = re.compile(rf"({_NUMBER})\s*([a-zµ]+)\s*", re.ASCII)
_LONGEST_TEXT = 400
LONGEST_S = 10**18


def parse_duration(text: str) -> float:
    """Return seconds. The exact sum of the parts is rounded once, so `0.1s 0.2s` equals `0.3s`."""
    stripped = text.strip()
    seconds = _exact_seconds(stripped) if 0 < len(stripped) <= _LONGEST_TEXT else None
    if seconds is None or seconds > LONGEST_S:
        raise ValueError(f'expected {DURATION_FORM}, got "{text[:60]}"')
    return float(seconds)


def _exact_seconds(text: str) -> Fraction | None:
    if _BARE.fullmatch(text):
        return Fraction(text)
    total, position = Fraction(0), 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or part[2] not in _SECONDS_OF:
            return None
        total += Fraction(part[1]) * _SECONDS_OF[part[2]]
        position = part.end()
    return total


def format_duration(seconds: float) -> str:
    """Return the shortest usual form without loss: `parse_duration` returns the same number."""
    if not 0 <= seconds <= LONGEST_S:
        raise ValueError(f"expected a number of seconds from 0 to 1e18, got {seconds!r}")
    exact = Decimal(repr(float(seconds)))
    if 0 < exact < 1:
        return f"{exact.scaleb(3):f}ms"
    whole_text, _, decimals = f"{exact:f}".partition(".")
    minutes, whole = divmod(int(whole_text), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    decimals = decimals.rstrip("0")
    rest = f"{whole}.{decimals}" if decimals else str(whole)
    parts = [f"{count}{unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "m")) if count]
    if rest != "0" or not parts:
        parts.append(f"{rest}s")
    return " ".join(parts)
