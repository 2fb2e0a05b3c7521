"""Refuse: a new connection is turned away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import Admission, ConnectionFault
from faultkit.rng import Rng


@dataclass(frozen=True)
class Refuse(ConnectionFault):
    kind: ClassVar[str] = "refuse"
    summary: ClassVar[str] = "New connections are turned away."

    def admit(self, rng: Rng) -> Admission:
        return Admission(refuse=True)
