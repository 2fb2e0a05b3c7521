"""GOAWAY: the client's HTTP/2 connection is ended while requests go on.

RFC 9113 §6.8: GOAWAY names the last stream that is still answered. The client may send the later ones again
on another connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http2_fault import Http2Effect, Http2Fault, SendGoaway
from faultkit.faults.protocol_codes import HTTP_2_CODES, code_number


@dataclass(frozen=True)
class Goaway(Http2Fault):
    kind: ClassVar[str] = "goaway"
    summary: ClassVar[str] = "HTTP/2 connections are ended by GOAWAY; earlier requests are still answered."

    code: str = setting(
        "NO_ERROR", "Error code: a name such as ENHANCE_YOUR_CALM, or a number.", examples=("NO_ERROR", "11")
    )
    debug: str = setting("", "Text for the client's log, such as too_many_pings.")
    answered: bool = setting(False, "Let the request that meets the rule be answered, too.")

    def check(self) -> None:
        code_number("code", self.code, HTTP_2_CODES)
        if len(self.debug.encode()) > 1024:
            raise ValueError(f"debug: expected at most 1024 bytes, got {len(self.debug.encode())}")

    def effect(self) -> Http2Effect:
        return SendGoaway(code_number("code", self.code, HTTP_2_CODES), self.debug.encode(), self.answered)
