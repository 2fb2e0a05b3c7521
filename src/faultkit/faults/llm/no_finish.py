"""No finish: the answer does not say why it ended, though its text is complete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent, Path
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmFilter, LlmVerdict


@dataclass(frozen=True)
class NoFinish(LlmFault):
    kind: ClassVar[str] = "no_finish"
    summary: ClassVar[str] = (
        "The answer has no reason for its end; where that is the last event, it is missing."
    )

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Unfinished(request, given))


class _Unfinished(LlmFilter):
    def __init__(self, request: LlmRequest, given: LlmCircumstances) -> None:
        self._dialect = request.dialect
        self._given = given

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not chunk.has("finish"):
            return (chunk,)
        self._given.note("no_finish", None)
        if chunk.has("end") and not chunk.is_whole:
            return ()
        changes: dict[Path, Any] = {part.path: None for part in chunk.parts if part.kind == "finish"}
        return (self._dialect.with_changes(chunk, changes),)
