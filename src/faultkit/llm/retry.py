"""When to try a failed call again: exponential backoff with jitter, and what the provider asks for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

from faultkit.base.rng import Rng
from faultkit.llm.failure import PASSING, Failure

FIRST_S = 0.5
LONGEST_S = 20.0
LONGEST_ASKED_S = 60.0
"""A provider that wants more is not waited for: knocking earlier would not be obeying it."""


def pause_s(failure: Failure, tried: int, rng: Rng) -> float | None:
    """How long to wait after `tried` tries; None if another one is of no use."""
    if failure.kind not in PASSING:
        return None
    # Half of it is fixed, so that nobody hammers; half is drawn, so that many do not come back at once.
    full_s = min(LONGEST_S, FIRST_S * 2.0 ** (min(tried, 32) - 1))
    own_s = full_s * (0.5 + 0.5 * rng.uniform())
    if failure.after_s is None:
        return own_s
    return failure.after_s if failure.after_s <= LONGEST_ASKED_S else None


def after_s(headers: Mapping[str, str]) -> float | None:
    """What `Retry-After` asks for. A date counts from the answer's own date: no clock of ours is read."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, ""), scale)
        if seconds is not None:
            return seconds
    then, now = _date(headers.get("retry-after", "")), _date(headers.get("date", ""))
    return None if then is None or now is None else max(0.0, then - now)


def _number(text: str, scale: float) -> float | None:
    try:
        number = float(text) * scale
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _date(text: str) -> float | None:
    parts = parsedate_tz(text)
    try:
        return None if parts is None else float(mktime_tz(parts))
    except (ValueError, OverflowError):
        return None
