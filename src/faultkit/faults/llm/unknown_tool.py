"""Unknown tool: the model calls a tool that it was not offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import MemberFilter


@dataclass(frozen=True)
class UnknownTool(LlmFault):
    kind: ClassVar[str] = "unknown_tool"
    summary: ClassVar[str] = "Tool calls name a tool that the request did not offer."

    name: str = setting("nonexistent_tool", "The name of the tool.")

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=MemberFilter(request, given, self.kind, "call_name", lambda name: self.name))
