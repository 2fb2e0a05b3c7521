"""Tool error: the tool says that it failed. The protocol is in order, so a model gets to see the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call.call import Call, CallFault, Circumstances, Send, Verdict
from faultkit.faults.call.reply import always, tool_error_of
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class ToolError(CallFault):
    kind: ClassVar[str] = "tool_error"
    summary: ClassVar[str] = "The tool answers that it failed (isError)."
    main: ClassVar[str] = "text"
    only: ClassVar[tuple[str, ...]] = ("tools/call",)
    instead: ClassVar[str] = "use protocol_error for methods other than tools/call"

    text: str = setting("injected tool error", "What the tool says.")
    call_upstream: bool = setting(False, "Let the server do its work, then throw its reply away.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(
            ask=self.call_upstream, frames=always(Send(tool_error_of(call, self.text))), effect=self.kind
        )
