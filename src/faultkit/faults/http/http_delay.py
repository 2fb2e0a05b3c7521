"""HTTP delay: a request waits before it is sent to the upstream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.distribution import fixed_ms
from faultkit.faults.drawn_delay import DrawnDelay
from faultkit.faults.http_fault import HttpFault, HttpVerdict, RequestContext


@dataclass(frozen=True)
class HttpDelay(DrawnDelay, HttpFault):
    kind: ClassVar[str] = "http_delay"
    summary: ClassVar[str] = "Requests wait before they are sent to the upstream."

    @property
    def constant_verdict(self) -> HttpVerdict | None:
        delay_ms = fixed_ms(self)
        return None if delay_ms is None else HttpVerdict(delay_s=delay_ms / 1000)

    def judge(self, given: RequestContext) -> HttpVerdict:
        return HttpVerdict(delay_s=self.draw_s(given.rng))
