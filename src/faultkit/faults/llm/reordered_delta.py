"""Reordered delta: two pieces of the answer that follow each other change places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent, moved_to
from faultkit.faults.llm_fault import (
    LlmCircumstances,
    LlmVerdict,
    PositionedFault,
    PositionedFilter,
    is_delta,
)


@dataclass(frozen=True)
class ReorderedDelta(PositionedFault):
    kind: ClassVar[str] = "reordered_delta"
    summary: ClassVar[str] = "Two events with content that follow each other change places."
    streams_only: ClassVar[bool] = True

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Swapping(self, request, given))


class _Swapping(PositionedFilter):
    def __init__(self, fault: ReorderedDelta, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._held: list[Chunk] = []
        """The event to swap, and keep-alives behind it."""

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not _is_piece(chunk):
            self.is_acting = False
            return (chunk,)
        self._held.append(chunk)
        return ()

    def later(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not self._held:
            return (chunk,)
        if chunk.has("keep_alive"):
            self._held.append(chunk)
            return ()
        if not _is_piece(chunk):
            return [*self._released(chunk.at), chunk]
        self.given.note("reordered", None)
        return [chunk, *self._released(chunk.at)]

    def end(self, end: End) -> Iterable[LlmEvent]:
        return [*self._released(end.at), end]

    def _released(self, at: float) -> list[LlmEvent]:
        held, self._held = self._held, []
        return [moved_to(chunk, at) for chunk in held]


def _is_piece(chunk: Chunk) -> bool:
    """Return whether an event is a piece of the answer, and no more than that."""
    return is_delta(chunk) and not chunk.has("finish", "end", "call_name")
