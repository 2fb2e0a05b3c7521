"""Content filter: the provider stops the answer, or refuses the prompt, because of what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, PositionedFault, refused
from faultkit.faults.llm_texts import StoppingFilter


@dataclass(frozen=True)
class ContentFilter(PositionedFault):
    kind: ClassVar[str] = "content_filter"
    summary: ClassVar[str] = "The provider's filter stops the answer in its middle, or refuses the prompt."

    form: Literal["stop", "error"] = setting(
        "stop", "Stop the answer with the provider's reason, or refuse the prompt.", choices=("stop", "error")
    )

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        if self.form == "stop":
            return LlmVerdict(filter=StoppingFilter(self, request, given, "content_filter"))
        given.note(self.kind, None)
        message = "The prompt was blocked by the content filter"
        return LlmVerdict(answer=refused(request, "content_filter", message, given.at))
