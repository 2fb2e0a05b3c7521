"""Quota exhausted: there is no credit left, and a retry cannot help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict, refused


@dataclass(frozen=True)
class QuotaExhausted(LlmFault):
    kind: ClassVar[str] = "quota_exhausted"
    summary: ClassVar[str] = "The account has no credit left: an error that must not be retried."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        given.note(self.kind, None)
        return LlmVerdict(
            answer=refused(request, "quota_exhausted", "You exceeded your current quota", given.at)
        )
