"""HTTP slow headers: the head of an answer arrives little by little."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import AnswerContext, AnswerFault, AnswerFilter, AnswerHead, AnswerPiece


@dataclass(frozen=True)
class HttpSlowHeaders(AnswerFault):
    kind: ClassVar[str] = "http_slow_headers"
    summary: ClassVar[str] = "The headers of an answer arrive slowly, line by line."

    over_ms: float = setting(5000.0, "Time from the status line to the last header.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.over_ms

    @property
    def paces(self) -> bool:
        return True

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _SlowHeadersFilter(self, answer)


class _SlowHeadersFilter(AnswerFilter):
    __slots__ = ("_answer", "_over_s", "_ready_at")

    def __init__(self, fault: HttpSlowHeaders, answer: AnswerContext) -> None:
        self._over_s = fault.over_ms / 1000
        self._answer = answer
        self._ready_at = 0.0

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if isinstance(piece, AnswerHead):
            self._answer.note("delay_ms", self._over_s * 1000)
            self._ready_at = piece.at + self._over_s
            return (replace(piece, at=self._ready_at, over_s=piece.over_s + self._over_s),)
        return (piece if piece.at >= self._ready_at else replace(piece, at=self._ready_at),)

    def let_go(self, at: float) -> Iterable[AnswerPiece]:
        self._ready_at = 0.0
        return ()
