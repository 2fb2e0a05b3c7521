"""HTTP delay: a request waits before it is sent to the upstream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from faultkit.faults.drawn_delay import DrawnDelay
from faultkit.faults.http_fault import HttpFault, HttpVerdict, RequestContext


@dataclass(frozen=True)
class HttpDelay(DrawnDelay, HttpFault):
    kind: ClassVar[str] = "http_delay"
    summary: ClassVar[str] = "Requests wait before they are sent to the upstream."

    def judge(self, given: RequestContext) -> HttpVerdict:
        return self._constant or HttpVerdict(delay_s=self.draw_s(given.rng))

    @cached_property
    def _constant(self) -> HttpVerdict | None:
        """The verdict on every request, if all wait equally long."""
        delay_s = self.constant_s
        return None if delay_s is None else HttpVerdict(delay_s=delay_s)
