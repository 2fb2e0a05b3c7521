"""What happens on one direction of a stream, as timed values.

`at` is in seconds on a monotonic clock. Filters take these events and give these events, which is
why a chain of filters is again a filter.
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
    """This direction ends (FIN); the other one lives on."""

    at: float


@dataclass(frozen=True, slots=True)
class Close:
    """Both directions end in good order."""

    at: float


@dataclass(frozen=True, slots=True)
class Reset:
    """Both directions end by RST."""

    at: float


Event: TypeAlias = Data | Eof | Close | Reset


def moved(event: Event, at: float) -> Event:
    """Return the same event at the time `at`."""
    if event.at == at:
        return event
    if isinstance(event, Data):
        return Data(at, event.payload)
    return type(event)(at)
