"""HTTP lost reply: the upstream does what it is asked to, and the client never gets the answer.

It is what a client meets when a connection breaks after a commit. Whether it asks again, and whether the
upstream then does the work twice, is in the ledger of the proxy: each request that such a rule covers, with
the upstream's status, how often it was done and how often the answer was lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import (
    AnswerContext,
    AnswerFault,
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
    Broken,
    Content,
)


@dataclass(frozen=True)
class HttpLostReply(AnswerFault):
    kind: ClassVar[str] = "http_lost_reply"
    summary: ClassVar[str] = "The upstream does its work, and the client never gets the answer."

    end: Literal["close", "reset", "hang"] = setting(
        "close",
        "What the client gets once the upstream has answered: a closed connection, a reset, or nothing.",
        choices=("close", "reset", "hang"),
    )

    @property
    def hides_answers(self) -> bool:
        return True

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _LostReplyFilter(self, answer)


class _LostReplyFilter(AnswerFilter):
    __slots__ = ("_answer", "_fault", "_status")

    def __init__(self, fault: HttpLostReply, answer: AnswerContext) -> None:
        self._fault = fault
        self._answer = answer
        self._status = 0

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if isinstance(piece, AnswerHead):
            self._status = piece.status
        if isinstance(piece, (AnswerHead, Content)):
            return ()
        self._answer.note("lost_reply", self._status)
        return (Broken(piece.at, self._fault.end),)
