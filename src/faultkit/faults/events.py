"""What happens on one direction of a stream, as timed values.

`at` is in seconds on a monotonic clock. Filters take these events and return these events, so a chain of
filters is a filter again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes that may be delivered from `at` on."""

    at: float
    payload: bytes


@dataclass(frozen=True, slots=True)
class Eof:
    """The end of this direction (FIN); the other one continues."""

    at: float
    truncated: bool = False
    """The sender spoke TLS and did not end it first: bytes may be missing (RFC 8446 §6.1)."""


@dataclass(frozen=True, slots=True)
class Close:
    """The end of both directions by FIN."""

    at: float


@dataclass(frozen=True, slots=True)
class Reset:
    """The end of both directions by RST."""

    at: float


Event: TypeAlias = Data | Eof | Close | Reset


def moved(event: Event, at: float) -> Event:
    """Return the same event at the time `at`."""
    if event.at == at:
        return event
    if isinstance(event, Data):
        return Data(at, event.payload)
    if isinstance(event, Eof):
        return Eof(at, event.truncated)
    return type(event)(at)


def brought_forward(at: float, by_s: float, now: float) -> float:
    """Return a future time, earlier by `by_s`, but not before now; a past one is returned as it is."""
    return at if at <= now else max(now, at - by_s)
