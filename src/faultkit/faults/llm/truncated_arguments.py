"""Truncated arguments: the JSON of a tool call's arguments ends in its middle, and the answer goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import ArgumentsFilter


@dataclass(frozen=True)
class TruncatedArguments(LlmFault):
    kind: ClassVar[str] = "truncated_arguments"
    summary: ClassVar[str] = "The arguments of tool calls end in their middle: text that is no JSON."

    keep: float = setting(0.5, "Share of the text that stays.", minimum=0, maximum=1)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=ArgumentsFilter(request, given, self.kind, self._cut))

    def _cut(self, text: str, parsed: Any) -> str:
        return text[: min(int(len(text) * self.keep), len(text) - 1)] if text else text
