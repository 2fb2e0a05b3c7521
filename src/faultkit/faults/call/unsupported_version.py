"""Unsupported version: the server refuses the protocol version of the client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Frame, Send, Verdict
from faultkit.faults.call_replies import always, error_of, refusal
from faultkit.faults.fault import setting

UNSUPPORTED_VERSION = -32022
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


@dataclass(frozen=True)
class UnsupportedVersion(CallFault):
    kind: ClassVar[str] = "unsupported_version"
    summary: ClassVar[str] = "The server refuses the protocol version of the call."
    main: ClassVar[str] = "supported"
    eras: ClassVar[tuple[Era, ...]] = ("modern",)
    instead: ClassVar[str] = "in the legacy era, use protocol_error with method initialize"

    supported: str = setting("2099-01-01", "Versions that it names as supported, with blanks between them.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        meta = call.params.get("_meta")
        requested = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        data = {"supported": self.supported.split(), "requested": requested or "2026-07-28"}
        error = error_of(call, UNSUPPORTED_VERSION, "Unsupported protocol version (fault injected)", data)
        answer: Frame = refusal(400, error) if call.transport == "http" else Send(error)
        return Verdict(ask=False, frames=always(answer), effect=self.kind)
