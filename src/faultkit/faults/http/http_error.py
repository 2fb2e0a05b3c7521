"""HTTP error: a request is answered with a given status.

Statuses below 200 are not accepted, because a client would go on waiting for the final one (RFC 9110 §15.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import HttpFault, HttpVerdict, setting

_WITHOUT_BODY = (204, 205, 304)


@dataclass(frozen=True)
class HttpError(HttpFault):
    kind: ClassVar[str] = "http_error"
    summary: ClassVar[str] = "Requests are answered with an error status."
    flag: ClassVar[str | None] = "http-response"
    env: ClassVar[str | None] = "FAULT_HTTP_FAULT"

    status: int = setting(500, "Status of the answer.", minimum=200, maximum=599)
    body: str | None = setting(None, "Body of the answer; none if not given.")
    call_upstream: bool = setting(False, "Let the upstream do its work, then throw its answer away.")

    def check(self) -> None:
        if self.body and self.status in _WITHOUT_BODY:
            raise ValueError(f"body: expected nothing with status {self.status}, got {self.body!r}")

    def judge(self, rng: Rng) -> HttpVerdict:
        return HttpVerdict(status=self.status, body=self.body, call_upstream=self.call_upstream)
