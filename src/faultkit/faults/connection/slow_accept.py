"""Slow accept: a new connection waits before it is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import Admission, ConnectionFault, setting


@dataclass(frozen=True)
class SlowAccept(ConnectionFault):
    kind: ClassVar[str] = "slow_accept"
    summary: ClassVar[str] = "New connections wait before they are served."

    delay_ms: float = setting(1000.0, "How long they wait.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_ms

    def admit(self, rng: Rng) -> Admission:
        return Admission(delay_s=self.delay_ms / 1000)
