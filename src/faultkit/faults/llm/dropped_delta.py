"""Dropped delta: pieces of the answer are missing, and the rest comes as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent, Path
from faultkit.faults.dialects.turn import token_pieces
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import (
    LlmCircumstances,
    LlmVerdict,
    PositionedFault,
    is_delta,
)
from faultkit.faults.llm_texts import CopyingFilter


@dataclass(frozen=True)
class DroppedDelta(PositionedFault):
    kind: ClassVar[str] = "dropped_delta"
    summary: ClassVar[str] = "Pieces of the answer are missing: events of a stream, tokens of a whole answer."

    share: float = setting(0.3, "Probability that a piece is dropped.", above=0, maximum=1)
    count: int | None = setting(None, "Drop at most so many.", minimum=1)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Dropping(self, request, given))


class _Dropping(CopyingFilter):
    def __init__(self, fault: DroppedDelta, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._share = fault.share
        self._left = fault.count

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self.later(chunk)

    def later(self, chunk: Chunk) -> Iterable[LlmEvent]:
        # An event that says more than a piece of the answer is kept: it would be another fault.
        if not is_delta(chunk) or chunk.has("finish", "end", "call_name") or not self._hits():
            return (chunk,)
        return ()

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        changes: dict[Path, Any] = {}
        for part in chunk.parts:
            if part.kind == "text" and isinstance(part.value, str):
                pieces = token_pieces(part.value)
                kept = [piece for n, piece in enumerate(pieces) if n < self.after_tokens or not self._hits()]
                if len(kept) < len(pieces):
                    changes[part.path] = "".join(kept)
        return (self.dialect.with_changes(chunk, changes),)

    def _hits(self) -> bool:
        if self._left == 0 or not (self._share == 1 or self.given.rng.chance(self._share)):
            return False
        if self._left is not None:
            self._left -= 1
        self.given.note("dropped", None)
        return True
