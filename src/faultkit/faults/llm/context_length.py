"""Context length: the prompt is too long for the model, whatever its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict, refused


@dataclass(frozen=True)
class ContextLength(LlmFault):
    kind: ClassVar[str] = "context_length"
    summary: ClassVar[str] = "The prompt is refused as too long for the model."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        given.note(self.kind, None)
        return LlmVerdict(
            answer=refused(
                request, "context_length", "The prompt is longer than the context of this model", given.at
            )
        )
