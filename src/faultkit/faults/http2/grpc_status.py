"""gRPC status: a call ends with a given status.

Without messages it is one block of headers that ends the stream (Trailers-Only), as a server sends it that
refuses a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http2_fault import EndCall, Http2Effect, Http2Fault
from faultkit.faults.protocol_codes import GRPC_CODES, code_number


@dataclass(frozen=True)
class GrpcStatus(Http2Fault):
    kind: ClassVar[str] = "grpc_status"
    summary: ClassVar[str] = "gRPC calls end with a given status."
    only_grpc: ClassVar[bool] = True

    code: str = setting(
        "UNAVAILABLE", "Status code: a name such as UNAVAILABLE, or a number.", examples=("ABORTED", "14")
    )
    message: str = setting("injected by faultkit", "Message of the status.")
    after_messages: int = setting(
        0,
        "Messages of the answer that pass first. With 0 the upstream gets no request.",
        minimum=0,
    )
    call_upstream: bool = setting(False, "Let the upstream do its work, then throw its answer away.")

    def check(self) -> None:
        code_number("code", self.code, GRPC_CODES)
        if self.call_upstream and self.after_messages:
            raise ValueError("call_upstream: expected nothing beside after_messages, got both")

    def effect(self) -> Http2Effect:
        code = code_number("code", self.code, GRPC_CODES)
        return EndCall(code, self.message, self.after_messages, self.call_upstream)
