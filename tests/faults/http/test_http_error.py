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
