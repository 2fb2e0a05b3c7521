"""HTTP drip: the content of an answer arrives at a low rate, a little at a time.

Each piece is a tenth of a second's worth, but at least one byte, so that a client which waits for the next
bytes only never times out. The bytes are those of the upstream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from faultkit.faults.fault import setting
from faultkit.faults.http_fault import AnswerContext, AnswerFault, AnswerFilter, AnswerPiece, Content

_PIECES_A_SECOND = 10
_MOST_PIECES = 16384
"""Pieces of one chunk of content. They all wait in memory, so what would follow them (after 27 minutes or
more) comes in larger pieces, at the same rate."""


@dataclass(frozen=True)
class HttpDrip(AnswerFault):
    kind: ClassVar[str] = "http_drip"
    summary: ClassVar[str] = "The body of an answer arrives at a low rate."

    bytes_per_s: float = setting(100.0, "Rate of the body.", unit="bytes/s", above=0, flag="rate")

    @property
    def least_delay_ms(self) -> float | None:
        return 1000 * self.piece_bytes / self.bytes_per_s

    @property
    def piece_bytes(self) -> int:
        """Bytes that are sent at a time."""
        return max(1, round(self.bytes_per_s / _PIECES_A_SECOND))

    @property
    def paces(self) -> bool:
        return True

    def open(self, answer: AnswerContext) -> AnswerFilter:
        return _DripFilter(self, answer)


class _DripFilter(AnswerFilter):
    __slots__ = ("_answer", "_last_at", "_next_at", "_piece_bytes", "_rate", "_started")

    def __init__(self, fault: HttpDrip, answer: AnswerContext) -> None:
        self._rate = fault.bytes_per_s
        self._piece_bytes = fault.piece_bytes
        self._answer = answer
        self._last_at = self._next_at = 0.0
        self._started = False

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if not isinstance(piece, Content) or not self._piece_bytes:
            return (piece if piece.at >= self._last_at else replace(piece, at=self._last_at),)
        if not self._started:
            self._started = True
            self._answer.note("bytes_per_s", self._rate)
        pieces: list[AnswerPiece] = []
        payload, begin = piece.payload, 0
        while begin < len(payload):
            size = self._piece_bytes
            if len(pieces) >= _MOST_PIECES:
                size = max(size, len(payload) // _MOST_PIECES + 1)
            part = payload[begin : begin + size]
            self._last_at = max(piece.at, self._next_at)
            # A short piece takes a shorter time, so that cuts of the upstream's do not change the rate.
            self._next_at = self._last_at + len(part) / self._rate
            pieces.append(Content(self._last_at, part))
            begin += size
        return pieces

    def let_go(self, at: float) -> Iterable[AnswerPiece]:
        self._piece_bytes = 0
        self._last_at = 0.0
        return ()
