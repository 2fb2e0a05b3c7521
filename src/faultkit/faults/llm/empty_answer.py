"""Empty answer: the model says nothing, and ends as if it had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent, Path
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmFilter, LlmVerdict

_TEXTS = ("text", "text_copy")


@dataclass(frozen=True)
class EmptyAnswer(LlmFault):
    kind: ClassVar[str] = "empty_answer"
    summary: ClassVar[str] = "The text of the answer is empty; its end is that of a complete one."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Emptying(request, given))


class _Emptying(LlmFilter):
    def __init__(self, request: LlmRequest, given: LlmCircumstances) -> None:
        self._dialect = request.dialect
        self._given = given
        self._is_noted = False

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        changes: dict[Path, Any] = {
            part.path: "" for part in chunk.parts if part.kind in _TEXTS and part.value
        }
        if not changes:
            return (chunk,)
        if not self._is_noted:
            self._is_noted = True
            self._given.note("empty_answer", None)
        if not chunk.is_whole and {part.kind for part in chunk.parts} <= {"text", "model"}:
            return ()
        return (self._dialect.with_changes(chunk, changes),)
