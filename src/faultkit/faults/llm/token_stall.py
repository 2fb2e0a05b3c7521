"""Token stall: the answer pauses once in its middle, without a byte, and then goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent, moved_to
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, MidwayFault, PositionedFilter


@dataclass(frozen=True)
class TokenStall(MidwayFault):
    kind: ClassVar[str] = "token_stall"
    summary: ClassVar[str] = "The stream pauses once in its middle: no byte comes for a while."
    streams_only: ClassVar[bool] = True

    stall_ms: float = setting(30_000.0, "Length of the pause.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.stall_ms

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Stalling(self, request, given))


class _Stalling(PositionedFilter):
    def __init__(self, fault: TokenStall, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._stall_ms = fault.stall_ms
        self._until = 0.0

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self._until = chunk.at + self._stall_ms / 1000
        self.given.note("delay_ms", self._stall_ms)
        return (moved_to(chunk, self._until),)

    def later(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return (moved_to(chunk, self._until),)

    def end(self, end: End) -> Iterable[LlmEvent]:
        return (moved_to(end, self._until),)
