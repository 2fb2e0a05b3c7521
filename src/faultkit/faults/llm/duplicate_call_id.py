"""Duplicate call id: every tool call of the answer has the id of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import MemberFilter


@dataclass(frozen=True)
class DuplicateCallId(LlmFault):
    kind: ClassVar[str] = "duplicate_call_id"
    summary: ClassVar[str] = "All tool calls of an answer have the same id, in dialects that have ids."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        first: list[Any] = []

        def same(value: Any) -> Any:
            first.append(value)
            return first[0]

        return LlmVerdict(filter=MemberFilter(request, given, self.kind, "call_id", same))
