"""HTTP wrong length: an answer claims a Content-Length that is not the length of its content.

An answer of unknown length is held back until its end, which is when the length is known. If it exceeds what
may be held, it passes as it is.
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


@dataclass(frozen=True)
class HttpWrongLength(AnswerFault):
    kind: ClassVar[str] = "http_wrong_length"
    summary: ClassVar[str] = "An answer claims a Content-Length that is wrong."

    by_bytes: int = setting(
        10, "Bytes that it claims too many; a negative number claims too few.", unit="bytes", minimum=-(2**31)
    )
    end: Literal["close", "keep"] = setting(
        "close",
        "After the body, the connection is closed, or stays open: the client then waits for what is missing, "
        "or finds bytes that are too many before the next answer.",
        choices=("close", "keep"),
    )

    def check(self) -> None:
        if self.by_bytes == 0:
            raise ValueError("by_bytes: expected a whole number other than 0, got 0")

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _WrongLengthFilter(self, answer)


class _WrongLengthFilter(AnswerFilter):
    __slots__ = ("_answer", "_fault", "_held", "_held_bytes", "_passes")

    def __init__(self, fault: HttpWrongLength, answer: AnswerContext) -> None:
        self._fault = fault
        self._answer = answer
        self._held: list[AnswerPiece] = []
        """The head and the content of an answer whose length is not known yet."""
        self._held_bytes = 0
        self._passes = False

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if self._passes:
            return (piece,)
        if isinstance(piece, AnswerHead):
            self._passes = not piece.has_content
            if not self._passes and piece.length is None:
                self._held.append(piece)
                return ()
            return (piece,) if self._passes or piece.length is None else (self._claim(piece, piece.length),)
        if isinstance(piece, Content):
            if not self._held:
                return (piece,)
            self._held.append(piece)
            self._held_bytes += len(piece.payload)
            return self.let_go(piece.at) if self._held_bytes > MOST_HELD_BYTES else ()
        ends = (
            Broken(piece.at, "close") if isinstance(piece, Finished) and self._fault.end == "close" else piece
        )
        if not self._held:
            return (ends,)
        head, *content = self._held
        self._held = []
        assert isinstance(head, AnswerHead)
        late = [replace(each, at=piece.at) for each in content]
        return (self._claim(replace(head, at=piece.at), self._held_bytes), *late, ends)

    def _claim(self, head: AnswerHead, length: int) -> AnswerHead:
        claimed = max(0, length + self._fault.by_bytes)
        self._answer.note("claimed_bytes", claimed)
        return replace(head, length=claimed)

    def let_go(self, at: float) -> Iterable[AnswerPiece]:
        held, self._held = self._held, []
        self._passes = self._passes or bool(held)
        return [replace(each, at=at) for each in held]
