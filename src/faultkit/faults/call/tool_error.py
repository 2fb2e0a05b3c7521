"""Tool error: the tool reports that it failed. The reply itself is valid, so a model sees the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Send, Verdict
from faultkit.faults.call_replies import always, tool_error_of
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class ToolError(CallFault):
    kind: ClassVar[str] = "tool_error"
    summary: ClassVar[str] = "The tool answers that it failed (isError)."
    main: ClassVar[str] = "text"
    only: ClassVar[tuple[str, ...]] = ("tools/call",)
    instead: ClassVar[str] = "use protocol_error for methods other than tools/call"

    text: str = setting("injected tool error", "Text of the error.")
    call_upstream: bool = setting(False, "Let the server do its work, then throw its reply away.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(
            ask=self.call_upstream, frames=always(Send(tool_error_of(call, self.text))), effect=self.kind
        )
