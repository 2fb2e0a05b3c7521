"""Server error: the provider fails, and says so in its own shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict, refused

_MESSAGE = "The server had an error while processing the request"


@dataclass(frozen=True)
class ServerError(LlmFault):
    kind: ClassVar[str] = "server_error"
    summary: ClassVar[str] = "The provider fails: 500, in the shape of its errors."

    status: int = setting(500, "Status of the answer.", minimum=500, maximum=599)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        given.note(self.kind, None)
        return LlmVerdict(answer=refused(request, "server_error", _MESSAGE, given.at, status=self.status))
