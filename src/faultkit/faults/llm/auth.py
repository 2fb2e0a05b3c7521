"""Auth: the key of the client is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict, refused


@dataclass(frozen=True)
class Auth(LlmFault):
    kind: ClassVar[str] = "auth"
    summary: ClassVar[str] = "The API key is refused."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        given.note(self.kind, None)
        return LlmVerdict(answer=refused(request, "auth", "Incorrect API key provided", given.at))
