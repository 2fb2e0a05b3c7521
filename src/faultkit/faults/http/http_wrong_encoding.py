"""HTTP wrong encoding: an answer claims a Content-Encoding that its content does not have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import (
    AnswerContext,
    AnswerFault,
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
)

_NAME = "Content-Encoding"


@dataclass(frozen=True)
class HttpWrongEncoding(AnswerFault):
    kind: ClassVar[str] = "http_wrong_encoding"
    summary: ClassVar[str] = "An answer claims a Content-Encoding that its body does not have."

    encoding: Literal["gzip", "deflate", "br", "zstd", "identity"] = setting(
        "gzip",
        "What it claims; identity claims none. An answer that has this encoding claims none instead.",
        choices=("gzip", "deflate", "br", "zstd", "identity"),
    )

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _WrongEncodingFilter(self, answer)


class _WrongEncodingFilter(AnswerFilter):
    __slots__ = ("_answer", "_claims")

    def __init__(self, fault: HttpWrongEncoding, answer: AnswerContext) -> None:
        self._claims = fault.encoding
        self._answer = answer

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if not isinstance(piece, AnswerHead) or not piece.has_content:
            return (piece,)
        others = tuple(field for field in piece.fields if field[0].lower() != _NAME.lower())
        true = [value.lower() for name, value in piece.fields if name.lower() == _NAME.lower()]
        is_true = self._claims == (", ".join(true) or "identity")
        if self._claims == "identity" and is_true:
            return (piece,)  # It has no encoding, and claims none.
        if not is_true and self._claims != "identity":
            others = (*others, (_NAME, self._claims))
        self._answer.note("wrong_encoding", 1)
        return (replace(piece, fields=others),)
