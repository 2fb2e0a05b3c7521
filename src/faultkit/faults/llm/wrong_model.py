"""Wrong model: the answer says that another model gave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import MemberFilter


@dataclass(frozen=True)
class WrongModel(LlmFault):
    kind: ClassVar[str] = "wrong_model"
    summary: ClassVar[str] = "The answer names another model than the one that was asked for."

    model: str = setting("some-other-model", "The name of the model.")

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=MemberFilter(request, given, self.kind, "model", lambda name: self.model))
