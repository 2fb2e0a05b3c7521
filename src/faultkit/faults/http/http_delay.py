"""HTTP delay: a request waits before it is sent to the upstream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import HttpFault, HttpVerdict, RequestContext


@dataclass(frozen=True)
class HttpDelay(HttpFault):
    kind: ClassVar[str] = "http_delay"
    summary: ClassVar[str] = "Requests wait before they are sent to the upstream."

    delay_ms: float = setting(1000.0, "How long they wait.", unit="ms", minimum=0, flag="by")

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_ms

    def judge(self, given: RequestContext) -> HttpVerdict:
        return HttpVerdict(delay_s=self.delay_ms / 1000)
