"""Lost trailers: an answer of HTTP/2 ends without its trailers. A gRPC call then has no status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http2_fault import DropTrailers, Http2Effect, Http2Fault


@dataclass(frozen=True)
class LostTrailers(Http2Fault):
    kind: ClassVar[str] = "lost_trailers"
    summary: ClassVar[str] = "HTTP/2 answers end without their trailers, which hold the status of gRPC calls."

    hang: bool = setting(False, "Do not end the stream, either: the client waits for the trailers.")

    def effect(self) -> Http2Effect:
        return DropTrailers(self.hang)
