"""Duplicate delta: pieces of the answer come twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import (
    LlmCircumstances,
    LlmVerdict,
    PositionedFault,
    PositionedFilter,
    is_delta,
)


@dataclass(frozen=True)
class DuplicateDelta(PositionedFault):
    kind: ClassVar[str] = "duplicate_delta"
    summary: ClassVar[str] = "Some events with content come twice."
    streams_only: ClassVar[bool] = True

    count: int = setting(1, "How many events.", minimum=1)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Doubling(self, request, given))


class _Doubling(PositionedFilter):
    def __init__(self, fault: DuplicateDelta, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._left = fault.count

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self.later(chunk)

    def later(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not self._left or not is_delta(chunk):
            return (chunk,)
        self._left -= 1
        self.given.note("duplicated", None)
        return chunk, chunk
