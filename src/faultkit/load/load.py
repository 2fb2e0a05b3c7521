"""How much to send, and when: one value that describes a load. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

Model: TypeAlias = Literal["open", "closed"]
Spacing: TypeAlias = Literal["even", "poisson"]


MOST_RPS = 1_000_000
_RATE = f"more than 0 and at most {MOST_RPS} requests a second of all clients together"


@dataclass(frozen=True, slots=True)
class Load:
    """Open: requests start when the schedule says, whatever became of those before. Closed: each client
    waits for its answer before it asks again."""

    duration_s: float
    rate_rps: float | None
    """Of all clients together. Only a closed load may have none: as fast as the answers come."""
    clients: int = 1
    """Of a closed load: how many ask at a time. An open load needs none."""
    model: Model = "open"
    ramp_s: float = 0.0
    """The rate rises evenly from 0 during so many seconds."""
    spacing: Spacing = "even"
    seed: int | str = 0
    """Of Poisson arrivals."""
    keep_alive: bool = True
    """Use a connection again; without, each request has a new one."""
    most_in_flight: int = 1000
    """Of an open load: an arrival that finds so many under way is dropped, and counted."""

    def __post_init__(self) -> None:
        for name, value, fits, expected in (
            ("duration_s", self.duration_s, self.duration_s > 0, "more than 0 seconds"),
            ("rate_rps", self.rate_rps, self.rate_rps is None or 0 < self.rate_rps <= MOST_RPS, _RATE),
            ("clients", self.clients, self.clients >= 1, "at least 1"),
            ("ramp_s", self.ramp_s, 0 <= self.ramp_s <= self.duration_s, "from 0 to the duration"),
            ("most_in_flight", self.most_in_flight, self.most_in_flight >= 1, "at least 1"),
        ):
            if not fits or (value is not None and not isfinite(value)):
                raise ValueError(f"{name}: expected {expected}, got {value}")
        if self.rate_rps is None and self.model == "open":
            raise ValueError("rate_rps: expected a rate for an open load, got nothing")
