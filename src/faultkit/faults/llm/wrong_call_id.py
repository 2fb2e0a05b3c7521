"""Wrong call id: the ids of tool calls are empty, so that their results cannot name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import MemberFilter


@dataclass(frozen=True)
class WrongCallId(LlmFault):
    kind: ClassVar[str] = "wrong_call_id"
    summary: ClassVar[str] = "Ids of tool calls are empty, in dialects that have ids."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=MemberFilter(request, given, self.kind, "call_id", _none))


def _none(value: Any) -> str:
    return ""
