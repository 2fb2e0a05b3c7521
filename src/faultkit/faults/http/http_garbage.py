"""HTTP garbage: the content of an answer is replaced by random bytes, as many as there were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import shake_128
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import AnswerContext, AnswerFault, AnswerFilter, AnswerPiece, Content

_BLOCK = 4096


@dataclass(frozen=True)
class HttpGarbage(AnswerFault):
    kind: ClassVar[str] = "http_garbage"
    summary: ClassVar[str] = "The body of an answer is replaced by random bytes."

    after_bytes: int = setting(0, "Bytes of the body that stay as they are.", unit="bytes", minimum=0)

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _GarbageFilter(self, answer)


class _GarbageFilter(AnswerFilter):
    __slots__ = ("_ahead", "_answer", "_began", "_blocks", "_intact", "_seed")

    def __init__(self, fault: HttpGarbage, answer: AnswerContext) -> None:
        self._intact = fault.after_bytes
        self._answer = answer
        self._began = False
        self._seed = answer.rng.uint64()
        self._blocks = 0
        self._ahead = b""

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if not isinstance(piece, Content) or len(piece.payload) <= self._intact:
            if isinstance(piece, Content):
                self._intact -= len(piece.payload)
            return (piece,)
        kept, self._intact = piece.payload[: self._intact], 0
        if not self._began:
            self._began = True
            self._answer.note("garbage", 1)
        return (Content(piece.at, kept + self._noise(len(piece.payload) - len(kept))),)

    def _noise(self, size: int) -> bytes:
        """Return the next random bytes: the same, however the upstream's writes are cut."""
        while len(self._ahead) < size:
            # A hash of the seed, because numbers drawn one by one would take a microsecond a byte.
            key = f"{self._seed}.{self._blocks}".encode()
            self._ahead += shake_128(key).digest(_BLOCK)
            self._blocks += 1
        noise, self._ahead = self._ahead[:size], self._ahead[size:]
        return noise
