"""No usage: the counts of tokens are missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.json_members import REMOVED
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent, Path
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmFilter, LlmVerdict


@dataclass(frozen=True)
class NoUsage(LlmFault):
    kind: ClassVar[str] = "no_usage"
    summary: ClassVar[str] = "The answer does not say how many tokens it took."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Uncounting(request, given))


class _Uncounting(LlmFilter):
    def __init__(self, request: LlmRequest, given: LlmCircumstances) -> None:
        self._dialect = request.dialect
        self._given = given
        self._is_noted = False

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not chunk.has("usage"):
            return (chunk,)
        if not self._is_noted:
            self._is_noted = True
            self._given.note("no_usage", None)
        if {part.kind for part in chunk.parts} <= {"usage", "model"}:
            return ()  # An event for the usage alone.
        changes: dict[Path, Any] = {part.path: REMOVED for part in chunk.parts if part.kind == "usage"}
        return (self._dialect.with_changes(chunk, changes),)
