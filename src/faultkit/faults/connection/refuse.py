"""Refuse: a new connection is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import Admission, ConnectionFault


@dataclass(frozen=True)
class Refuse(ConnectionFault):
    kind: ClassVar[str] = "refuse"
    summary: ClassVar[str] = "New connections are refused."

    def admit(self, rng: Rng) -> Admission:
        return Admission(refuse=True)
