"""Length stop: the answer ends in its middle, because it has reached the limit of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, PositionedFault
from faultkit.faults.llm_texts import StoppingFilter


@dataclass(frozen=True)
class LengthStop(PositionedFault):
    kind: ClassVar[str] = "length_stop"
    summary: ClassVar[str] = "The answer stops at a length, and says so: the reason of its end is the length."
    usual_tokens: ClassVar[int] = 3

    after_tokens: int | None = setting(
        None, "Tokens that pass before it stops; 3, unless after_events is set.", minimum=0
    )

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=StoppingFilter(self, request, given, "length"))
