"""Moments as the audit log keeps them: whole microseconds since 1970, in UTC. Alone asks the clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from faultkit.units import parse_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
TIME_FORM = 'a time such as "2026-01-31T12:00:00Z", or how long ago, such as "15m" or "2d"'


def now_us() -> int:
    return time.time_ns() // 1000


def time_text(at_us: int) -> str:
    """RFC 3339, always of the same length."""
    return (_EPOCH + at_us * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: str, now_us: int) -> int:
    """A time without a zone is UTC."""
    stripped = text.strip()
    try:
        return now_us - round(parse_duration(stripped) * 1_000_000)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise ValueError(f'expected {TIME_FORM}, got "{text[:60]}"') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND
