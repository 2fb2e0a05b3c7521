"""Answer faults without a network: run one on the pieces of an answer, and check the laws of filters."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.base.rng import Rng
from faultkit.faults.http_fault import (
    AnswerContext,
    AnswerFault,
    AnswerHead,
    AnswerPiece,
    Broken,
    Content,
    Finished,
)

SAMPLE: tuple[AnswerPiece, ...] = (
    AnswerHead(1.0, 200, (("Content-Type", "text/plain"),), 10),
    Content(1.0, b"01234"),
    Content(2.5, b"56789"),
    Finished(2.5),
)
"""An answer with a declared length."""


def run_answer(fault: AnswerFault, *pieces: AnswerPiece, seed: int = 0) -> list[AnswerPiece]:
    """Return what the client gets of an answer."""
    return noted_answer(fault, *pieces, seed=seed)[0]


def noted_answer(
    fault: AnswerFault, *pieces: AnswerPiece, seed: int = 0
) -> tuple[list[AnswerPiece], list[tuple[str, float]]]:
    """Return what the client gets of an answer, and the effects that were recorded."""
    notes: list[tuple[str, float]] = []
    filter = fault.open(AnswerContext(Rng.keyed(seed), lambda effect, value: notes.append((effect, value))))
    return [given for piece in pieces for given in filter.feed(piece)], notes


def check_answer_fault(fault: AnswerFault, pieces: Sequence[AnswerPiece] = SAMPLE, seed: int = 0) -> None:
    """Check the laws of answer filters (`faults.http_fault`). Raises AssertionError."""
    first, second = (run_answer(fault, *pieces, seed=seed) for _ in range(2))
    assert first == second, "the same seed gives the same pieces"
    _check_order(first)
    for cut in range(len(pieces) + 1):
        filter = fault.open(AnswerContext(Rng.keyed(seed), lambda effect, value: None))
        out: list[AnswerPiece] = []
        for piece in pieces[:cut]:
            given = list(filter.feed(piece))
            assert all(each.at >= piece.at for each in given), "nothing comes out before it went in"
            out += given
        out += filter.let_go(pieces[cut - 1].at if cut else 0.0)
        out += (given for piece in pieces[cut:] for given in filter.feed(piece))
        _check_order(out, is_timed=False)


def _check_order(pieces: Sequence[AnswerPiece], *, is_timed: bool = True) -> None:
    if is_timed:
        times = [piece.at for piece in pieces]
        assert times == sorted(times), "`at` never decreases"
    heads = [place for place, piece in enumerate(pieces) if isinstance(piece, AnswerHead)]
    assert heads in ([], [0]), "the head comes first, and once"
    ends = [place for place, piece in enumerate(pieces) if isinstance(piece, (Finished, Broken))]
    assert ends in ([], [len(pieces) - 1]), "nothing comes after the end"
    assert heads or not any(isinstance(piece, Content) for piece in pieces), "content needs a head"
