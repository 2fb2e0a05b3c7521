"""How a figure is written: milliseconds, shares, instants, lengths of time. One way for all renderers.

It knows numbers and text, and nothing of reports. What is not a finite number is written as `-`.
"""

from __future__ import annotations

import re
from math import isfinite

NOTHING = "-"
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:Z|\+00:?00)?")
_MOST_DECIMALS = 6


def decimals(value: float | None, places: int = 2) -> str:
    """`199.92`. Never `-0.00`."""
    if value is None or not isfinite(value):
        return NOTHING
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def short(value: float | None) -> str:
    """As few digits as say it: `3`, `0.5`, `99.95`; never in powers of ten."""
    if value is None or not isfinite(value):
        return NOTHING
    text = f"{value:.{_MOST_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def milliseconds(value: float | None, places: int = 2) -> str:
    text = decimals(value, places)
    return text if text == NOTHING else f"{text} ms"


def signed(value: float, unit: str, places: int = 2) -> str:
    """`+1.50 ms`, `-0.20 %`."""
    text = decimals(value, places)
    if text == NOTHING:
        return text
    return f"{text} {unit}" if text.startswith("-") else f"+{text} {unit}"


def share(count: int, total: int) -> str:
    """`15 (48.4%)`."""
    return f"{count} ({100 * count / total if total else 0.0:.1f}%)"


def rate(value: float | None) -> str:
    """`29.95/s`."""
    return NOTHING if value is None or not isfinite(value) else f"{decimals(value)}/s"


def instant(iso: str) -> str:
    """`2025-06-27 14:14:36.689011165 UTC`, from the same as ISO 8601; other text stays as it is."""
    parts = _INSTANT.fullmatch(iso)
    return iso if parts is None else f"{parts[1]} {parts[2]}.{(parts[3] or '').ljust(9, '0')} UTC"


def second(iso: str) -> str:
    """The same to the second, as ISO 8601 without a zone: `2025-06-27T14:14:36`."""
    parts = _INSTANT.fullmatch(iso)
    return iso if parts is None else f"{parts[1]}T{parts[2]}"


def humanised(seconds: float) -> str:
    """`10 seconds and 329 ms`, `1 minute, 30 seconds and 5 ms`, `464 ms`."""
    if not isfinite(seconds):
        return NOTHING
    whole, ms = divmod(round(max(seconds, 0.0) * 1000), 1000)
    minutes, whole = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        f"{count} {unit}{'' if count == 1 else 's'}"
        for count, unit in ((hours, "hour"), (minutes, "minute"), (whole, "second"))
        if count
    ]
    if ms or not parts:
        parts.append(f"{ms} ms")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def flat(text: str) -> str:
    """Text from outside on one line, without what could steer a terminal: unprintable becomes blank."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
