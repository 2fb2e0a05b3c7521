"""Numbers as text for reports and messages, in the two styles that reports have. Pure.

Columns: fixed decimals and `-` for no number, as in the text, Markdown and JUnit reports. Prose: about three
digits, thousands apart, a typographic minus and `–` for no number, as in the HTML report and the review.
Neither style knows a report. Durations that users write are the matter of `faultkit.base.units`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from faultkit.base.text import and_list, count_of

NO_NUMBER = "-"
"""In a column, in place of a value that is missing or not finite."""
NO_FIGURE = "–"
"""The same in prose."""
MINUS = "−"
"""The sign of a negative number in prose."""
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:Z|\+00:?00)?")
_MOST_DECIMALS = 6


# --- columns ------------------------------------------------------------------------------------


def decimals(value: float | None, places: int = 2) -> str:
    """Return a number with fixed decimals: `199.92`, and never `-0.00`."""
    if value is None or not isfinite(value):
        return NO_NUMBER
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def shortest(value: float | None) -> str:
    """Return a number with as few digits as possible: `3`, `0.5`, `99.95`; never in powers of ten."""
    if value is None or not isfinite(value):
        return NO_NUMBER
    text = f"{value:.{_MOST_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def value_text(value: Any) -> str:
    """Return a value of any type as text: `true`, `0.5`, `retry`, `a 1, b 2`; an empty text for None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return shortest(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(value_text, value))
    return "" if value is None else str(value)


def milliseconds(value: float | None, places: int = 2) -> str:
    """Return a time with its unit: `42.10 ms`."""
    text = decimals(value, places)
    return text if text == NO_NUMBER else f"{text} ms"


def signed_column(value: float, unit: str, places: int = 2) -> str:
    """Return a difference with its sign and unit: `+1.50 ms`, `-0.20 %`."""
    text = decimals(value, places)
    if text == NO_NUMBER:
        return text
    return f"{text} {unit}" if text.startswith("-") else f"+{text} {unit}"


def count_and_share(count: int, total: int) -> str:
    """Return a count and its share of the total: `15 (48.4%)`."""
    return f"{count} ({100 * count / total if total else 0.0:.1f}%)"


def rate(value: float | None) -> str:
    """Return a number of events a second: `29.95/s`."""
    return NO_NUMBER if value is None or not isfinite(value) else f"{decimals(value)}/s"


def instant(iso: str) -> str:
    """Return an ISO 8601 time as `2025-06-27 14:14:36.689011165 UTC`; any other text unchanged."""
    parts = _INSTANT.fullmatch(iso)
    return iso if parts is None else f"{parts[1]} {parts[2]}.{(parts[3] or '').ljust(9, '0')} UTC"


def instant_to_second(iso: str) -> str:
    """Return an ISO 8601 time to the second, without a zone: `2025-06-27T14:14:36`."""
    parts = _INSTANT.fullmatch(iso)
    return iso if parts is None else f"{parts[1]}T{parts[2]}"


def duration_in_words(seconds: float) -> str:
    """Return a duration in words: `10 seconds and 329 ms`, `1 minute, 30 seconds and 5 ms`, `464 ms`."""
    if not isfinite(seconds):
        return NO_NUMBER
    whole, ms = divmod(round(max(seconds, 0.0) * 1000), 1000)
    minutes, whole = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    units = ((hours, "hour"), (minutes, "minute"), (whole, "second"))
    parts = [count_of(count, unit) for count, unit in units if count]
    if ms or not parts:
        parts.append(f"{ms} ms")
    return and_list(parts)


# --- prose --------------------------------------------------------------------------------------


def rounded(value: float) -> str:
    """Return a number with three digits or more, at most two decimals, thousands apart."""
    if not isfinite(value):
        return NO_FIGURE
    size = abs(value)
    decimals = next((places for limit, places in ((9.995, 2), (99.95, 1)) if size < limit), 0)
    text = f"{size:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def duration(ms: float) -> str:
    """Return milliseconds in a unit that keeps them short: `0.42 ms`, `1,234 ms`, `12.3 s`, `5 min 20 s`."""
    if not isfinite(ms):
        return NO_FIGURE
    sign = MINUS if ms < 0 else ""
    size = abs(ms)
    if size < 9_999.5:
        return f"{rounded(ms)} ms"
    seconds = size / 1000
    if seconds < 119.95:
        return f"{sign}{rounded(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{sign}{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours:,} h" + (f" {minutes} min" if minutes else "")


def seconds(value: float) -> str:
    """Return a duration that is known in seconds: `0.5 s`, `12.3 s`, `5 min 20 s`."""
    return duration(1000 * value) if not value < 119.95 else f"{rounded(value)} s"


def tick(ms: float) -> str:
    """Return a round duration for the scale of a chart: `0`, `50 ms`, `1.5 s`, `2 min`."""
    if ms == 0:
        return "0"
    for unit, size, decimals in (("h", 3_600_000.0, 0), ("min", 60_000.0, 0), ("s", 1000.0, 1)):
        whole = ms / size
        if whole >= 1 and abs(whole - round(whole, decimals)) < 1e-9:
            return f"{whole:,.6g} {unit}"
    return f"{ms:,.6g} ms"


def signed_prose(text: str) -> str:
    """Return the text of a difference, with a plus if it is above 0."""
    above = text[0] not in (MINUS, NO_FIGURE) and any(digit in text for digit in "123456789")
    return f"+{text}" if above else text


def percentage(value: float) -> str:
    """Return a percentage: `0 %`, `0.04 %`, `12.3 %`, `99.98 %`; neither 0 nor 100 by rounding alone."""
    if 0 < value < 0.01:
        return "< 0.01 %"
    if 99.95 <= value < 100:
        return "> 99.99 %" if value >= 99.995 else f"{value:.2f} %"
    return f"{rounded(value)} %"


def share_of(part: int, whole: int) -> str:
    """Return the part as a percentage of the whole."""
    return percentage(100 * part / whole) if whole else NO_FIGURE


def size(count: int) -> str:
    """Return a number of bytes in decimal units: `212 B`, `63.6 kB`."""
    if count < 1000:
        return f"{count} B"
    value, units = count / 1000, ["TB", "GB", "MB", "kB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop()
    return f"{rounded(value)} {units[-1]}"


def percentile_name(percent: float) -> str:
    """Return the name of a percentile: `p50`, `p99.9`."""
    return f"p{percent:g}"
