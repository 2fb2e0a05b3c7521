"""HTTP status: the endpoint answers the POST with a given status.

401 and 403 stand for lost permissions, 404 for a lost session (legacy era). 429 carries Retry-After, and 503
may carry it (RFC 9110 §10.2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Message, Transport, Verdict
from faultkit.faults.call_replies import UNRESPONSIVE, always, error_of, refusal
from faultkit.faults.fault import setting

_WAITING = (429, 503)
_RETRY_AFTER_S = {429: 30}
"""Where it is usual, as with the fault rate_limit."""
_NEVER_S = -1
_TEXTS = {
    401: "unauthorized",
    403: "forbidden",
    404: "session not found",
    429: "too many requests",
    500: "internal server error",
    502: "bad gateway",
    503: "service unavailable",
    504: "gateway timeout",
}


@dataclass(frozen=True)
class HttpStatus(CallFault):
    kind: ClassVar[str] = "http_status"
    summary: ClassVar[str] = "The endpoint answers with an HTTP status instead of a reply."
    main: ClassVar[str] = "status"
    transports: ClassVar[tuple[Transport, ...]] = ("http",)
    instead: ClassVar[str] = "use protocol_error, or disconnect for a server that is gone"

    status: int = setting(503, "Status of the answer.", minimum=400, maximum=599)
    retry_after_s: int | None = setting(
        None,
        "Retry-After (429 and 503 only); 30 with 429 if not given, and no such header if -1.",
        unit="s",
        minimum=_NEVER_S,
    )
    body: str | None = setting(None, "Body of the answer; a few words in plain text if not given.")
    as_error: bool = setting(False, "The body is a JSON-RPC error with these words as its message.")
    call_upstream: bool = setting(False, "Let the server do its work, then throw its reply away.")

    def check(self) -> None:
        if self.retry_after_s is not None and self.status not in _WAITING:
            raise ValueError(
                f"retry_after_s: expected nothing with status {self.status}, got {self.retry_after_s}"
            )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        words = _TEXTS.get(self.status, f"status {self.status}") if self.body is None else self.body
        body: Message | bytes = words.encode(errors="replace")
        if self.as_error:
            body = error_of(call, UNRESPONSIVE, words, {"status": self.status})
        answer = refusal(self.status, body, self._wait_s(), challenge=self.status == 401)
        return Verdict(
            ask=self.call_upstream, frames=always(answer), effect=self.kind, amount=float(self.status)
        )

    def _wait_s(self) -> int | None:
        given_s = _RETRY_AFTER_S.get(self.status) if self.retry_after_s is None else self.retry_after_s
        return None if given_s == _NEVER_S else given_s
