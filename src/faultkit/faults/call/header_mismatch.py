"""Header mismatch: the server reports a header that contradicts the body, though none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Transport, Verdict
from faultkit.faults.call_replies import always, error_of, refusal
from faultkit.faults.fault import setting

HEADER_MISMATCH = -32020


@dataclass(frozen=True)
class HeaderMismatch(CallFault):
    kind: ClassVar[str] = "header_mismatch"
    summary: ClassVar[str] = "The server refuses the call: its headers do not match its body."
    main: ClassVar[str] = "header"
    transports: ClassVar[tuple[Transport, ...]] = ("http",)
    eras: ClassVar[tuple[Era, ...]] = ("modern",)
    instead: ClassVar[str] = "use http_status (400) in the legacy era, protocol_error over stdio"

    header: Literal["Mcp-Name", "Mcp-Method", "MCP-Protocol-Version"] = setting(
        "Mcp-Name",
        "The header that the error names.",
        choices=("Mcp-Name", "Mcp-Method", "MCP-Protocol-Version"),
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        text = f"Header mismatch: {self.header} does not match the body (fault injected)"
        body = error_of(call, HEADER_MISMATCH, text)
        return Verdict(ask=False, frames=always(refusal(400, body)), effect=self.kind)
