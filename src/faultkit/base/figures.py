"""Figures in prose and in charts: three or so digits, and the unit that keeps them short. Pure text.

For the HTML report and the review. The fixed columns of the other reports are `faultkit.base.numerals`.
"""

from __future__ import annotations

from math import isfinite

MINUS = "−"
NOTHING = "–"


def rounded(value: float) -> str:
    """Three digits or more, at most two decimals, thousands apart."""
    if not isfinite(value):
        return NOTHING
    size = abs(value)
    decimals = next((places for limit, places in ((9.995, 2), (99.95, 1)) if size < limit), 0)
    text = f"{size:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def duration(ms: float) -> str:
    """`0.42 ms`, `42.1 ms`, `1,234 ms`, `12.3 s`, `5 min 20 s`."""
    if not isfinite(ms):
        return NOTHING
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
    """A length of time that is known in seconds: `0.5 s`, `12.3 s`, `5 min 20 s`."""
    return duration(1000 * value) if not value < 119.95 else f"{rounded(value)} s"


def tick(ms: float) -> str:
    """A round duration as short as it gets: `0`, `50 ms`, `1.5 s`, `2 min`."""
    if ms == 0:
        return "0"
    for unit, size, decimals in (("h", 3_600_000.0, 0), ("min", 60_000.0, 0), ("s", 1000.0, 1)):
        whole = ms / size
        if whole >= 1 and abs(whole - round(whole, decimals)) < 1e-9:
            return f"{whole:,.6g} {unit}"
    return f"{ms:,.6g} ms"


def signed(text: str) -> str:
    """With a plus if it is above 0: for what is a difference."""
    above = text[0] not in (MINUS, NOTHING) and any(digit in text for digit in "123456789")
    return f"+{text}" if above else text


def percentage(value: float) -> str:
    """`0 %`, `0.04 %`, `12.3 %`, `99.98 %`; neither 0 nor 100 by rounding alone."""
    if 0 < value < 0.01:
        return "< 0.01 %"
    if 99.95 <= value < 100:
        return "> 99.99 %" if value >= 99.995 else f"{value:.2f} %"
    return f"{rounded(value)} %"


def share(part: int, whole: int) -> str:
    return percentage(100 * part / whole) if whole else NOTHING


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 request`, `1,200 requests`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(count: int) -> str:
    """Bytes, decimal: `212 B`, `63.6 kB`."""
    if count < 1000:
        return f"{count} B"
    value, units = count / 1000, ["TB", "GB", "MB", "kB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop()
    return f"{rounded(value)} {units[-1]}"


def percentile_name(percent: float) -> str:
    """`p50`, `p99.9`."""
    return f"p{percent:g}"
