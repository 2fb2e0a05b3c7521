"""HTTP cut: an answer ends in the middle of its content.

Where the upstream declares no length, the client gets its fraction of what has come so far, at each moment,
and so exactly the fraction when the answer ends. What is held back for that is limited: when it exceeds the
limit, the answer is cut there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import (
    MOST_HELD_BYTES,
    AnswerContext,
    AnswerFault,
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
    Broken,
    Content,
    Finished,
)

_HALF = 0.5


@dataclass(frozen=True)
class HttpCut(AnswerFault):
    kind: ClassVar[str] = "http_cut"
    summary: ClassVar[str] = "An answer ends in the middle of its body."

    fraction: float = setting(_HALF, "Share of the body that arrives.", minimum=0, maximum=1)
    after_bytes: int | None = setting(
        None, "Bytes of the body that arrive, instead of a share.", unit="bytes", minimum=0
    )
    end: Literal["close", "reset", "hang", "clean"] = setting(
        "close",
        "How it ends: the connection is closed or reset, nothing more comes, or it ends as if it were whole.",
        choices=("close", "reset", "hang", "clean"),
    )

    def check(self) -> None:
        if self.after_bytes is not None and self.fraction != _HALF:
            raise ValueError(f"after_bytes: expected none beside fraction ({self.fraction:g}), got both")

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _CutFilter(self, answer)


class _CutFilter(AnswerFilter):
    __slots__ = ("_answer", "_fault", "_held", "_limit", "_over", "_passes", "_seen", "_sent")

    def __init__(self, fault: HttpCut, answer: AnswerContext) -> None:
        self._fault = fault
        self._answer = answer
        self._limit: int | None = fault.after_bytes
        """Bytes of content after which it ends; None while that is not known."""
        self._seen = self._sent = 0
        self._held = b""
        self._over = False
        self._passes = False

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if self._passes:
            return (piece,)
        if self._over:
            return ()
        if isinstance(piece, AnswerHead):
            return self._begin(piece)
        if isinstance(piece, Content):
            return self._content(piece)
        # The content was shorter than the limit: the answer is whole.
        return (piece,) if self._limit is not None else self._end(piece.at)

    def _begin(self, head: AnswerHead) -> list[AnswerPiece]:
        fault, length = self._fault, head.length
        self._passes = not head.has_content
        if self._passes:
            return [head]
        if length is not None:
            if self._limit is None:
                self._limit = int(length * fault.fraction)
            if fault.end == "clean" and self._limit < length:
                head = replace(head, length=self._limit)
        return [head, *(self._end(head.at) if self._limit == 0 else ())]

    def _content(self, piece: Content) -> list[AnswerPiece]:
        self._seen += len(piece.payload)
        if self._limit is not None:
            part = piece.payload[: self._limit - self._sent]
            self._sent += len(part)
            return [Content(piece.at, part), *(self._end(piece.at) if self._sent >= self._limit else ())]
        self._held += piece.payload
        size = int(self._seen * self._fault.fraction) - self._sent
        part, self._held = self._held[:size], self._held[size:]
        self._sent += size
        out: list[AnswerPiece] = [Content(piece.at, part)] if part else []
        return out + (self._end(piece.at) if len(self._held) > MOST_HELD_BYTES else [])

    def _end(self, at: float) -> list[AnswerPiece]:
        self._over = True
        self._held = b""
        self._answer.note("cut_bytes", self._sent)
        how = self._fault.end
        return [Finished(at) if how == "clean" else Broken(at, how)]

    def let_go(self, at: float) -> Iterable[AnswerPiece]:
        if self._over or self._limit is not None:
            return ()  # A length may have been claimed already.
        self._passes = True
        return (Content(at, self._held),) if self._held else ()
