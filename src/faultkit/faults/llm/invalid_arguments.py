"""Invalid arguments: the arguments of a tool call are no JSON, as models write it when they slip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import ArgumentsFilter


@dataclass(frozen=True)
class InvalidArguments(LlmFault):
    kind: ClassVar[str] = "invalid_arguments"
    summary: ClassVar[str] = "The arguments of tool calls are no JSON: single quotes, and a comma too many."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=ArgumentsFilter(request, given, self.kind, _broken))


def _broken(text: str, parsed: Any) -> str:
    return text.replace('"', "'").removesuffix("}") + ",}"
