"""Where responses end, however their bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.response import NOT_HTTP, Failure, HeadResponseReader, ResponseReader

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nLast: one\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
UNCHANGED = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"
CLOSING = b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"

WHOLE = [
    (SIZED, 200, True),
    (CHUNKED, 201, True),
    (INTERIM + SIZED, 200, True),
    (EMPTY, 204, True),
    (UNCHANGED, 304, True),
    (CLOSING, 503, False),
    (OLD, 200, False),
]


@pytest.mark.parametrize(("raw", "status", "keep_alive"), WHOLE)
def test_an_answer_is_complete_with_its_last_byte(raw: bytes, status: int, keep_alive: bool) -> None:
    answer = ResponseReader()
    assert [answer.feed(raw[at : at + 1]) for at in range(len(raw))] == [False] * (len(raw) - 1) + [True]
    assert (answer.status, answer.keep_alive) == (status, keep_alive)


@given(st.lists(st.sampled_from([SIZED, CHUNKED, INTERIM + SIZED, EMPTY, UNCHANGED]), max_size=6), st.data())
def test_answers_follow_one_another_on_a_connection(raws: list[bytes], data: st.DataObject) -> None:
    answer = ResponseReader()
    for raw in raws:
        cut = data.draw(st.integers(1, len(raw) - 1))
        assert not answer.feed(raw[:cut])
        assert answer.feed(raw[cut:])


UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\nsome"


def test_an_answer_without_a_length_ends_with_the_stream() -> None:
    for raw in (UNTIL_CLOSE, INTERIM + UNTIL_CLOSE, b"HTTP/1.0 200 OK\r\n\r\n"):
        answer = ResponseReader()
        assert not answer.feed(raw)
        assert answer.end()
        assert answer.status == 200


@pytest.mark.parametrize("raw", [SIZED, CHUNKED, INTERIM + SIZED])
def test_an_answer_with_a_length_does_not_end_with_the_stream(raw: bytes) -> None:
    for cut in range(1, len(raw)):
        answer = ResponseReader()
        answer.feed(raw[:cut])
        assert not answer.end()


def test_an_answer_to_head_is_complete_with_its_head() -> None:
    answer = HeadResponseReader()
    for raw in (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", INTERIM + UNCHANGED):
        assert answer.feed(raw)
        assert answer.keep_alive
    assert answer.status == 304


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        SIZED + b"more",
        SIZED + b"H",
        SIZED + SIZED,
        CLOSING + b"more",
    ],
)
def test_what_is_no_answer_or_goes_on_after_it_is_refused(raw: bytes) -> None:
    answer = ResponseReader()
    with pytest.raises(NOT_HTTP):
        answer.feed(raw)


def test_a_body_after_an_answer_to_head_is_refused() -> None:
    answer = HeadResponseReader()
    with pytest.raises(NOT_HTTP):
        answer.feed(SIZED)


PROXYS = b"HTTP/1.1 502 Bad Gateway\r\nProxy-Status: faultkit; error=%s\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "trouble"),
    [
        (PROXYS % b"connection_refused", Failure.REFUSED),
        (PROXYS % b"connection_timeout", Failure.TIMEOUT),
        (PROXYS % b"dns_error", Failure.DNS),
        (PROXYS % b"destination_unavailable", Failure.UNREACHABLE),
        (PROXYS % b"proxy_internal_error", Failure.SHORTAGE),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", Failure.NONE),
        (
            b"HTTP/1.1 502 B\r\nProxy-Status: other; error=dns_error\r\nContent-Length: 0\r\n\r\n",
            Failure.NONE,
        ),
        (SIZED, Failure.NONE),
    ],
)
def test_what_our_own_proxy_says_of_its_trouble_is_no_answer_of_the_target(
    raw: bytes, trouble: Failure
) -> None:
    answer = ResponseReader()
    for place in (1, len(raw) // 2):
        answer.feed(raw[:place])
        assert answer.feed(raw[place:])
        assert answer.trouble == trouble
    assert answer.feed(SIZED)
    assert answer.trouble == Failure.NONE
