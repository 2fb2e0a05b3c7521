"""Answer cut: the connection ends in the middle of an event, by FIN or by RST."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent
from faultkit.faults.fault import setting
from faultkit.faults.llm_answers import cut_whole
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, MidwayFault, PositionedFilter


@dataclass(frozen=True)
class AnswerCut(MidwayFault):
    kind: ClassVar[str] = "answer_cut"
    summary: ClassVar[str] = "The connection ends in the middle of the answer, before its framing says so."

    reset: bool = setting(False, "End it by RST instead of FIN.")

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Cutting(self, request, given))


class _Cutting(PositionedFilter):
    def __init__(self, fault: AnswerCut, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._is_reset = fault.reset

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self._cut(Chunk(chunk.at, chunk.raw[: len(chunk.raw) // 2]))

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self._cut(cut_whole(chunk, self.after_tokens))

    def _cut(self, begun: Chunk) -> Iterable[LlmEvent]:
        self.given.note("resets" if self._is_reset else "cuts", None)
        return self.finish(begun, End(begun.at, "reset" if self._is_reset else "cut"))
