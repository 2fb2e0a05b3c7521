"""What each fault of answers does to the pieces of an answer: exact values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.http import http_cut
from faultkit.faults.http.http_cut import HttpCut
from faultkit.faults.http.http_drip import HttpDrip
from faultkit.faults.http.http_garbage import HttpGarbage
from faultkit.faults.http.http_lost_reply import HttpLostReply
from faultkit.faults.http.http_slow_headers import HttpSlowHeaders
from faultkit.faults.http.http_wrong_encoding import HttpWrongEncoding
from faultkit.faults.http.http_wrong_length import HttpWrongLength
from faultkit.faults.http_fault import (
    AnswerContext,
    AnswerFault,
    AnswerHead,
    AnswerPiece,
    Broken,
    Content,
    Finished,
    feed_through,
)
from faultkit.testing.answers import SAMPLE, check_answer_fault, noted_answer, run_answer
from faultkit.testing.strategies import faults

FAULTS = [cls for cls in NETWORK_FAULTS.values() if issubclass(cls, AnswerFault)]

HEAD = AnswerHead(1.0, 200, (("A", "b"),), 10)
OPEN = replace(HEAD, length=None)
EMPTY = AnswerHead(1.0, 204, (), None, has_content=False)
CONTENT = (Content(1.0, b"01234"), Content(2.0, b"56789"))
END = Finished(2.0)


@pytest.mark.parametrize(
    ("fault", "answer", "expected"),
    [
        (HttpCut(), (HEAD, *CONTENT, END), [HEAD, CONTENT[0], Broken(1.0, "close")]),
        (
            HttpCut(fraction=0.75, end="reset"),
            (HEAD, *CONTENT, END),
            [HEAD, CONTENT[0], Content(2.0, b"56"), Broken(2.0, "reset")],
        ),
        (HttpCut(fraction=0), (HEAD, *CONTENT, END), [HEAD, Broken(1.0, "close")]),
        (
            HttpCut(after_bytes=2, end="hang"),
            (OPEN, *CONTENT, END),
            [OPEN, Content(1.0, b"01"), Broken(1.0, "hang")],
        ),
        # Of an unknown length, half of what has come so far; at the end it is half of all.
        (
            HttpCut(),
            (OPEN, *CONTENT, END),
            [OPEN, Content(1.0, b"01"), Content(2.0, b"234"), Broken(2.0, "close")],
        ),
        # A clean end claims the length that arrives.
        (
            HttpCut(fraction=0.2, end="clean"),
            (HEAD, *CONTENT, END),
            [replace(HEAD, length=2), Content(1.0, b"01"), Finished(1.0)],
        ),
        (HttpCut(after_bytes=10**6, end="clean"), (HEAD, *CONTENT, END), [HEAD, *CONTENT, END]),
        (HttpCut(), (EMPTY, Finished(1.0)), [EMPTY, Finished(1.0)]),
        (
            HttpDrip(bytes_per_s=16),
            (HEAD, CONTENT[0], Finished(1.0)),
            [HEAD, Content(1.0, b"01"), Content(1.125, b"23"), Content(1.25, b"4"), Finished(1.25)],
        ),
        # A short piece does not take the time of a whole one, and a slow upstream is not slowed further.
        (
            HttpDrip(bytes_per_s=2),
            (HEAD, Content(1.0, b"ab"), Content(5.0, b"c"), Finished(5.0)),
            [HEAD, Content(1.0, b"a"), Content(1.5, b"b"), Content(5.0, b"c"), Finished(5.0)],
        ),
        (
            HttpSlowHeaders(over_ms=500),
            (HEAD, *CONTENT, END),
            [replace(HEAD, at=1.5, over_s=0.5), replace(CONTENT[0], at=1.5), CONTENT[1], END],
        ),
        (
            HttpWrongLength(),
            (HEAD, *CONTENT, END),
            [replace(HEAD, length=20), *CONTENT, Broken(2.0, "close")],
        ),
        (
            HttpWrongLength(by_bytes=-3, end="keep"),
            (HEAD, *CONTENT, END),
            [replace(HEAD, length=7), *CONTENT, END],
        ),
        (HttpWrongLength(by_bytes=-99, end="keep"), (HEAD, END), [replace(HEAD, length=0), END]),
        (
            HttpWrongLength(by_bytes=1, end="keep"),
            (OPEN, *CONTENT, END),
            [
                replace(OPEN, at=2.0, length=11),
                replace(CONTENT[0], at=2.0),
                CONTENT[1],
                END,
            ],
        ),
        (HttpWrongLength(), (EMPTY, Finished(1.0)), [EMPTY, Finished(1.0)]),
        (
            HttpWrongEncoding(),
            (HEAD, END),
            [replace(HEAD, fields=(("A", "b"), ("Content-Encoding", "gzip"))), END],
        ),
        (
            HttpWrongEncoding(),
            (replace(HEAD, fields=(("content-encoding", "GZIP"),)), END),
            [replace(HEAD, fields=()), END],
        ),
        (
            HttpWrongEncoding(encoding="identity"),
            (replace(HEAD, fields=(("content-encoding", "br"),)), END),
            [replace(HEAD, fields=()), END],
        ),
        (HttpWrongEncoding(encoding="identity"), (HEAD, END), [HEAD, END]),
        (HttpWrongEncoding(), (EMPTY, Finished(1.0)), [EMPTY, Finished(1.0)]),
        (HttpLostReply(), (HEAD, *CONTENT, END), [Broken(2.0, "close")]),
        (HttpLostReply(end="hang"), (EMPTY, Finished(1.0)), [Broken(1.0, "hang")]),
        (HttpGarbage(after_bytes=99), (HEAD, *CONTENT, END), [HEAD, *CONTENT, END]),
    ],
)
def test_the_client_gets(
    fault: AnswerFault, answer: tuple[AnswerPiece, ...], expected: list[AnswerPiece]
) -> None:
    assert run_answer(fault, *answer) == expected


@pytest.mark.parametrize(
    ("fault", "notes"),
    [
        (HttpCut(), [("cut_bytes", 5)]),
        (HttpDrip(bytes_per_s=7), [("bytes_per_s", 7)]),
        (HttpSlowHeaders(over_ms=20), [("delay_ms", 20)]),
        (HttpWrongLength(by_bytes=-1), [("claimed_bytes", 9)]),
        (HttpWrongEncoding(), [("wrong_encoding", 1)]),
        (HttpLostReply(), [("lost_reply", 200)]),
        (HttpGarbage(), [("garbage", 1)]),
    ],
)
def test_what_was_done_is_recorded_once(fault: AnswerFault, notes: list[tuple[str, float]]) -> None:
    assert noted_answer(fault, *SAMPLE)[1] == notes


def test_garbage_is_as_long_as_the_content_and_does_not_depend_on_its_cuts() -> None:
    fault = HttpGarbage(after_bytes=3)

    def content(*parts: bytes) -> bytes:
        pieces = run_answer(fault, HEAD, *(Content(1.0, part) for part in parts), seed=4)
        return b"".join(piece.payload for piece in pieces if isinstance(piece, Content))

    whole = content(b"x" * 9000)
    assert whole == content(b"xx", b"xxxx", b"x" * 8994)
    assert len(whole) == 9000
    assert whole[:3] == b"xxx"
    assert len(set(whole[3:])) == 256


def test_what_is_held_for_a_cut_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_cut, "MOST_HELD_BYTES", 6)
    pieces = run_answer(HttpCut(fraction=0.1), OPEN, *CONTENT, END)
    assert pieces == [OPEN, Content(2.0, b"0"), Broken(2.0, "close")]


def test_an_answer_too_long_to_know_its_length_passes_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.faults.http.http_wrong_length.MOST_HELD_BYTES", 6)
    out, notes = noted_answer(HttpWrongLength(), OPEN, *CONTENT, END)
    assert out == [replace(OPEN, at=2.0), replace(CONTENT[0], at=2.0), CONTENT[1], END]
    assert notes == []


@pytest.mark.parametrize(
    ("fault", "fed", "freed", "rest"),
    [
        (HttpCut(), (OPEN, CONTENT[0]), [Content(1.2, b"234")], [CONTENT[1], END]),
        (HttpCut(end="clean"), (HEAD,), [], [CONTENT[0], Finished(1.0)]),
        (HttpDrip(bytes_per_s=1), (HEAD, CONTENT[0]), [], [CONTENT[1], END]),
        (HttpSlowHeaders(over_ms=9000), (HEAD,), [], [*CONTENT, END]),
        (HttpWrongLength(), (OPEN,), [replace(OPEN, at=1.2)], [*CONTENT, END]),
    ],
)
def test_a_rule_that_acts_no_more_undoes_what_can_be_undone(
    fault: AnswerFault, fed: tuple[AnswerPiece, ...], freed: list[AnswerPiece], rest: list[AnswerPiece]
) -> None:
    filter = fault.open(AnswerContext(Rng.keyed(0), lambda effect, value: None))
    for piece in fed:
        list(filter.feed(piece))
    assert list(filter.let_go(1.2)) == freed
    left = (HEAD, *CONTENT, END)[len(fed) :]
    assert [given for piece in left for given in filter.feed(piece)] == rest


def test_a_chain_of_filters_is_a_filter() -> None:
    given = AnswerContext(Rng.keyed(0), lambda effect, value: None)
    chain = [HttpCut(after_bytes=3).open(given), HttpDrip(bytes_per_s=8).open(given)]
    out = [each for piece in (HEAD, *CONTENT, END) for each in feed_through(chain, piece)]
    assert out == [HEAD, Content(1.0, b"0"), Content(1.125, b"1"), Content(1.25, b"2"), Broken(1.25, "close")]


@pytest.mark.parametrize("cls", FAULTS, ids=lambda cls: str(cls.kind))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_every_fault_of_answers_keeps_the_laws(cls: type[AnswerFault], data: st.DataObject) -> None:
    fault = data.draw(faults(cls))
    assert isinstance(fault, AnswerFault)
    payloads = data.draw(st.lists(st.binary(max_size=40), max_size=5))
    length = data.draw(st.sampled_from((None, sum(map(len, payloads)))))
    pieces: list[AnswerPiece] = [AnswerHead(0.0, 200, (), length, has_content=length != 0)]
    pieces += [Content(float(place), payload) for place, payload in enumerate(payloads)]
    if data.draw(st.booleans()):
        pieces.append(Finished(float(len(payloads))))
    check_answer_fault(fault, pieces, seed=data.draw(st.integers(0, 9)))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"by_bytes": 0}, "by_bytes: expected a whole number other than 0, got 0"),
        ({"end": "reset"}, "end: expected one of close, keep, got 'reset'"),
    ],
)
def test_a_length_that_is_right_is_no_fault(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        HttpWrongLength(**settings)  # type: ignore[arg-type]


def test_a_share_beside_a_number_of_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"after_bytes: expected none beside fraction \(0.2\), got both"):
        HttpCut(fraction=0.2, after_bytes=10)
    assert HttpCut(after_bytes=10).after_bytes == 10
