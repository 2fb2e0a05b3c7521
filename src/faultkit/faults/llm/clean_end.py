"""Clean end: the answer ends in good order in its middle, without a reason and without its last event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent
from faultkit.faults.llm_answers import cut_whole
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, MidwayFault, PositionedFilter


@dataclass(frozen=True)
class CleanEnd(MidwayFault):
    kind: ClassVar[str] = "clean_end"
    summary: ClassVar[str] = (
        "The answer ends in its middle, in good order: no error, no reason, no last event."
    )

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Ending(self, request, given))


class _Ending(PositionedFilter):
    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note("clean_end", None)
        return self.finish(End(chunk.at))

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note("clean_end", None)
        return self.finish(cut_whole(chunk, self.after_tokens), End(chunk.at))
