"""gRPC deadline: a call is not answered before its deadline.

A client with a deadline ends the call itself. One without a deadline waits, which is what many tests look
for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http2_fault import ExceedDeadline, Http2Effect, Http2Fault


@dataclass(frozen=True)
class GrpcDeadline(Http2Fault):
    kind: ClassVar[str] = "grpc_deadline"
    summary: ClassVar[str] = "gRPC calls are not answered, or end with DEADLINE_EXCEEDED."
    only_grpc: ClassVar[bool] = True

    after_ms: float | None = setting(
        None,
        "When the call ends with DEADLINE_EXCEEDED, if its own deadline does not end it before. Without "
        "it the call is not answered at all.",
        unit="ms",
        minimum=0,
    )
    call_upstream: bool = setting(False, "Let the upstream do its work, then throw its answer away.")

    def effect(self) -> Http2Effect:
        return ExceedDeadline(None if self.after_ms is None else self.after_ms / 1000, self.call_upstream)
