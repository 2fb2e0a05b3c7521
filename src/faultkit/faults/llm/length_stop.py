"""Length stop: the answer ends in its middle, because it has reached the limit of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, MidwayFault
from faultkit.faults.llm_texts import StoppingFilter


@dataclass(frozen=True)
class LengthStop(MidwayFault):
    kind: ClassVar[str] = "length_stop"
    summary: ClassVar[str] = "The answer stops at a length, and says so: the reason of its end is the length."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=StoppingFilter(self, request, given, "length"))
