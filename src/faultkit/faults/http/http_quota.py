"""HTTP quota: so many requests pass in a window of time, and the rest are answered by 429.

A window begins with the first request after the one before has ended, as with the fixed windows of most
APIs. `Retry-After` (RFC 9110 §10.2.3) is the rest of the window in whole seconds, rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import HttpFault, HttpVerdict, RequestContext


@dataclass(frozen=True)
class HttpQuota(HttpFault):
    kind: ClassVar[str] = "http_quota"
    summary: ClassVar[str] = "Requests over a quota are answered by 429 with Retry-After."

    requests: int = setting(10, "Requests that pass in each window; the rule's match says which.", minimum=0)
    window_s: float = setting(60.0, "Length of a window.", unit="s", above=0)
    status: int = setting(429, "Status of the answer.", minimum=400, maximum=599)
    body: str | None = setting(None, "Body of the answer; none if not given.")
    retry_after_s: int | None = setting(
        None, "Seconds in the Retry-After field, instead of the rest of the window.", unit="s", minimum=0
    )

    @property
    def shares_memory(self) -> bool:
        return True

    def judge(self, given: RequestContext) -> HttpVerdict:
        memory = given.memory
        ends_at = memory.get("ends_at")
        if ends_at is None or given.at >= ends_at:
            ends_at = memory["ends_at"] = given.at + self.window_s
            memory["passed"] = 0
        if memory["passed"] < self.requests:
            memory["passed"] += 1
            return HttpVerdict()
        left_s = self.retry_after_s
        if left_s is None:
            left_s = max(1, math.ceil(ends_at - given.at))
        headers = (("Retry-After", str(left_s)),)
        return HttpVerdict(status=self.status, body=self.body, headers=headers, fault=self.kind)
