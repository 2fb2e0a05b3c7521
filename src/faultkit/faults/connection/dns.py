"""DNS: the name of an upstream is resolved late, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.fault import NameFault, Resolution, setting


@dataclass(frozen=True)
class Dns(NameFault):
    kind: ClassVar[str] = "dns"
    summary: ClassVar[str] = "Names are resolved late, or not at all."

    outcome: Literal["fail", "resolve"] = setting(
        "fail", "The outcome after the delay.", choices=("fail", "resolve")
    )
    delay_ms: float = setting(0.0, "How long the outcome takes.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_ms if self.delay_ms else None

    def resolve(self, rng: Rng) -> Resolution:
        return Resolution(fail=self.outcome == "fail", delay_s=self.delay_ms / 1000)
