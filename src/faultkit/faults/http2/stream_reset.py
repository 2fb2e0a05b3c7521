"""Stream reset: one request of an HTTP/2 connection ends by RST_STREAM, the others go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http2_fault import Http2Effect, Http2Fault, ResetStream
from faultkit.faults.protocol_codes import HTTP_2_CODES, code_number


@dataclass(frozen=True)
class StreamReset(Http2Fault):
    kind: ClassVar[str] = "stream_reset"
    summary: ClassVar[str] = "HTTP/2 requests are ended by RST_STREAM."

    code: str = setting(
        "INTERNAL_ERROR", "Error code: a name such as CANCEL, or a number.", examples=("CANCEL", "9")
    )
    after_bytes: int | None = setting(
        None,
        "Bytes of the answer's body that pass first. Without it, and without messages, the upstream gets no "
        "request.",
        unit="bytes",
        minimum=0,
    )
    after_messages: int | None = setting(None, "gRPC messages of the answer that pass first.", minimum=0)

    def check(self) -> None:
        code_number("code", self.code, HTTP_2_CODES)
        if self.after_bytes is not None and self.after_messages is not None:
            raise ValueError("after_messages: expected nothing beside after_bytes, got both")

    def effect(self) -> Http2Effect:
        code = code_number("code", self.code, HTTP_2_CODES)
        return ResetStream(code, self.after_bytes, self.after_messages)
