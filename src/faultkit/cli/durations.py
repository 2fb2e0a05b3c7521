"""Flags whose value is a duration."""

from __future__ import annotations

from faultkit.base.errors import InputError
from faultkit.base.units import parse_duration


def seconds_of(flag: str, text: str) -> float:
    """More than none; InputError names the flag."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise InputError(flag, str(error)) from None
    if seconds == 0:
        raise InputError(flag, f'expected more than 0, got "{text}"')
    return seconds


def seconds_if_given(flag: str, text: str | None) -> float | None:
    return None if text is None else seconds_of(flag, text)
