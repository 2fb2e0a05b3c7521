"""Slow first token: the answer begins late, and then comes as fast as ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, Head, LlmEvent, moved_to
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmFilter, LlmVerdict, is_delta


@dataclass(frozen=True)
class SlowFirstToken(LlmFault):
    kind: ClassVar[str] = "slow_first_token"
    summary: ClassVar[str] = "The first token comes late; what follows keeps its pace."

    delay_ms: float = setting(5000.0, "How late it comes.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_ms

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Late(self.delay_ms, given))


class _Late(LlmFilter):
    def __init__(self, delay_ms: float, given: LlmCircumstances) -> None:
        self._delay_ms = delay_ms
        self._shift_s = 0.0
        self._given = given

    def head(self, head: Head) -> Iterable[LlmEvent]:
        if not head.is_stream:
            self._begin()
        return (moved_to(head, head.at + self._shift_s),)

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not self._shift_s and is_delta(chunk):
            self._begin()
        return (moved_to(chunk, chunk.at + self._shift_s),)

    def _begin(self) -> None:
        self._shift_s = self._delay_ms / 1000
        self._given.note("delay_ms", self._delay_ms)
