"""HTTP error: a request is answered with a given status.

Statuses below 200 are not accepted, because a client would go on waiting for the final one (RFC 9110 §15.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import HttpFault, HttpVerdict, RequestContext, field_problem

_WITHOUT_BODY = (204, 205, 304)


@dataclass(frozen=True)
class HttpError(HttpFault):
    kind: ClassVar[str] = "http_error"
    summary: ClassVar[str] = "Requests are answered with an error status."
    flag: ClassVar[str | None] = "http-response"
    env: ClassVar[str | None] = "FAULT_HTTP_FAULT"

    status: int = setting(500, "Status of the answer.", minimum=200, maximum=599)
    body: str | None = setting(None, "Body of the answer; none if not given.")
    headers: tuple[tuple[str, str], ...] = setting(
        (), "Header fields of the answer; Content-Type replaces text/plain.", flag="header"
    )
    retry_after_s: int | None = setting(None, "Seconds in a Retry-After field.", unit="s", minimum=0)
    call_upstream: bool = setting(False, "Let the upstream do its work, then throw its answer away.")

    def check(self) -> None:
        if self.body and self.status in _WITHOUT_BODY:
            raise ValueError(f"body: expected nothing with status {self.status}, got {self.body!r}")
        for name, value in self.headers:
            if problem := field_problem(name, value):
                raise ValueError(f"headers: expected {problem}")
        if self.retry_after_s is not None and any(name.lower() == "retry-after" for name, _ in self.headers):
            raise ValueError("retry_after_s: expected none beside Retry-After in headers, got both")

    @property
    def hides_answers(self) -> bool:
        return self.call_upstream

    def judge(self, given: RequestContext) -> HttpVerdict:
        return self._verdict

    @cached_property
    def _verdict(self) -> HttpVerdict:
        headers = self.headers
        if self.retry_after_s is not None:
            headers = (*headers, ("Retry-After", str(self.retry_after_s)))
        return HttpVerdict(
            status=self.status, body=self.body, headers=headers, call_upstream=self.call_upstream
        )
