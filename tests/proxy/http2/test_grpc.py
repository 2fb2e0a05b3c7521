from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.proxy.http2.grpc import MessageCounter, is_grpc, status_fields, timeout_s
from tests.proxy.http2.peers import message


@given(
    texts=st.lists(st.binary(max_size=12), max_size=6),
    count=st.integers(0, 7),
    cuts=st.lists(st.integers(0, 90), max_size=8),
)
def test_messages_are_counted_wherever_the_bytes_are_cut(
    texts: list[bytes], count: int, cuts: list[int]
) -> None:
    body = b"".join(map(message, texts))
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    counter, passed = MessageCounter(), b""
    for begin, end in itertools.pairwise(places):
        part = body[begin:end]
        stop = counter.end_of(count, part)
        passed += part if stop is None else part[:stop]
        if stop is not None:
            break
    assert passed == b"".join(map(message, texts[:count]))
    assert counter.complete == min(count, len(texts))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"1H", 3600), (b"2M", 120), (b"3S", 3), (b"250m", 0.25), (b"5u", 5e-6), (b"7n", 7e-9)]
    + [(bad, math.inf) for bad in (b"", b"1", b"-1S", b"123456789S", b"1 S", b"1s")],
)
def test_a_deadline_is_read_as_the_specification_writes_it(value: bytes, expected: float) -> None:
    assert timeout_s(value) == pytest.approx(expected)


def test_a_status_is_percent_encoded() -> None:
    assert status_fields(13, "ä % ~\t") == [(b"grpc-status", b"13"), (b"grpc-message", b"%C3%A4 %25 ~%09")]
    assert status_fields(5, "") == [(b"grpc-status", b"5")]


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (b"application/grpc", True),
        (b"application/grpc+proto", True),
        (b"application/grpc;x", True),
        (b"application/grpc-web", False),
        (b"application/json", False),
        (b"", False),
    ],
)
def test_calls_are_known_by_their_content_type(content_type: bytes, expected: bool) -> None:
    assert is_grpc(content_type) is expected
