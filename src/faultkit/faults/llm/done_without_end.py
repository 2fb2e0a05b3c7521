"""Done without end: the stream has said that it is over, and the connection stays open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import End, Head, LlmEvent, moved_to
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmFilter, LlmVerdict


@dataclass(frozen=True)
class DoneWithoutEnd(LlmFault):
    kind: ClassVar[str] = "done_without_end"
    summary: ClassVar[str] = "After its last event the stream does not end: the connection stays open."
    streams_only: ClassVar[bool] = True

    hold_s: float = setting(60.0, "How long it stays open.", unit="s", minimum=0, maximum=86_400)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Holding(self.hold_s, given))


class _Holding(LlmFilter):
    def __init__(self, hold_s: float, given: LlmCircumstances) -> None:
        self._hold_s = hold_s
        self._given = given
        self._is_stream = False

    def head(self, head: Head) -> Iterable[LlmEvent]:
        self._is_stream = head.is_stream
        return (head,)

    def end(self, end: End) -> Iterable[LlmEvent]:
        if not self._is_stream or end.how != "end":
            return (end,)
        self._given.note("hold_s", self._hold_s)
        return (moved_to(end, end.at + self._hold_s),)
