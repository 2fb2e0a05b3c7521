"""Malformed event: one event of the stream, or the whole answer, is JSON that ends in its middle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, PositionedFault, PositionedFilter


@dataclass(frozen=True)
class MalformedEvent(PositionedFault):
    kind: ClassVar[str] = "malformed_event"
    summary: ClassVar[str] = "One event is no JSON: it ends in its middle. The others stay as they are."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Breaking(self, request, given))


class _Breaking(PositionedFilter):
    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note("malformed", None)
        return (self.dialect.with_payload(chunk, chunk.payload[: len(chunk.payload) // 2]),)

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self.first(chunk)
