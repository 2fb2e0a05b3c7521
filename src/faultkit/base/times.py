"""Times as the audit log stores them: whole microseconds since 1970, in UTC. It reads the wall clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from faultkit.base.units import parse_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_US = (datetime(1900, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST_US = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND - 1
"""The first and the last time that has a text form."""
TIME_FORM = 'a time such as "2026-01-31T12:00:00Z", or how long ago, such as "15m" or "2d"'


def now_us() -> int:
    """Return the present time."""
    return time.time_ns() // 1000


def time_text(at_us: int) -> str:
    """Return a time in RFC 3339 form, always of the same length."""
    return (_EPOCH + at_us * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: str, now_us: int) -> int:
    """Return the time of a text. One without a zone is UTC; a duration means so long before `now_us`."""
    at_us = _at_us(text.strip(), now_us)
    if at_us is None:
        raise ValueError(f'expected {TIME_FORM}, got "{text[:60]}"')
    if not _FIRST_US <= at_us <= _LAST_US:
        raise ValueError(f'expected a time of the years 1900 to 9998, got "{text[:60]}"')
    return at_us


def _at_us(text: str, now_us: int) -> int | None:
    try:
        return now_us - round(parse_duration(text) * 1_000_000)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND
