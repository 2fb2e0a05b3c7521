"""Overloaded: the provider has no capacity, and says so before its answer or in the middle of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import (
    INJECTED,
    LlmCircumstances,
    LlmVerdict,
    PositionedFault,
    PositionedFilter,
    refused,
)

_MESSAGE = "The model is overloaded: try again later"


@dataclass(frozen=True)
class Overloaded(PositionedFault):
    kind: ClassVar[str] = "overloaded"
    summary: ClassVar[str] = "The provider is overloaded: 529 or 503, or an error event after 200."

    as_event: bool = setting(False, "Send the error as an event of a stream that has begun with status 200.")

    def check(self) -> None:
        super().check()
        if not self.as_event and (self.after_tokens or self.after_events):
            name = "after_tokens" if self.after_tokens else "after_events"
            raise ValueError(f"{name}: expected as_event beside it, without which there is no position")

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        if self.as_event and request.is_streamed:
            return LlmVerdict(filter=_Failing(self, request, given))
        given.note(self.kind, None)
        return LlmVerdict(answer=refused(request, "overloaded", _MESSAGE, given.at))


class _Failing(PositionedFilter):
    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note("overloaded", None)
        request = self.request
        error = self.dialect.error_chunk(
            chunk.at, request.framing, "overloaded", f"{_MESSAGE} {INJECTED}", request.model
        )
        return self.finish(error, End(chunk.at))
