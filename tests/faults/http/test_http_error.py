from __future__ import annotations

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.http_fault import HttpVerdict, RequestContext


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (HttpError(), HttpVerdict(status=500)),
        (
            HttpError(status=503, body="busy", call_upstream=True),
            HttpVerdict(status=503, body="busy", call_upstream=True),
        ),
        (
            HttpError(status=429, headers={"X-Why": "busy", "X-Limit": 5}, retry_after_s=3),  # type: ignore[arg-type]
            HttpVerdict(status=429, headers=(("X-Why", "busy"), ("X-Limit", "5"), ("Retry-After", "3"))),
        ),
    ],
)
def test_the_answer_is_the_one_of_the_settings(fault: HttpError, verdict: HttpVerdict) -> None:
    assert fault.judge(RequestContext(0.0, Rng.keyed(0))) == verdict


@pytest.mark.parametrize("status", [0, 100, 199, 600])
def test_a_status_that_is_no_final_answer_is_refused(status: int) -> None:
    with pytest.raises(ValueError) as caught:
        HttpError(status=status)
    assert str(caught.value) == f"status: expected a whole number from 200 to 599, got {status}"


@pytest.mark.parametrize("status", [204, 205, 304])
def test_a_status_without_body_takes_none(status: int) -> None:
    assert HttpError(status=status).body is None
    with pytest.raises(ValueError) as caught:
        HttpError(status=status, body="x")
    assert str(caught.value) == f"body: expected nothing with status {status}, got 'x'"


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"X Y": "a"}, "a header name such as X-Reason, got 'X Y'"),
        ({"X": "a\r\nSet-Cookie: b"}, "a value of printable ASCII for X, got 'a\\r\\nSet-Cookie: b'"),
        ({"content-length": "3"}, "no content-length, which the proxy writes itself"),
        ({"X": ["a"]}, "a text for X, got ['a']"),
        ("X: a", "a mapping of names to texts, got 'X: a'"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused(headers: object, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        HttpError(headers=headers)  # type: ignore[arg-type]
    assert str(caught.value) == f"headers: expected {problem}"


def test_one_retry_after_is_enough() -> None:
    with pytest.raises(ValueError, match="retry_after_s: expected none beside Retry-After in headers"):
        HttpError(headers=(("retry-after", "1"),), retry_after_s=2)
