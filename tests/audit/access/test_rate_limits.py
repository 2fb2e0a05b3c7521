"""Rate limits, with times that the test sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.audit.access.rate_limits import Rate, RateLimiter, parse_rate


@pytest.mark.parametrize(
    ("text", "rate"), [("100/s", Rate(100, 1)), (" 600/m ", Rate(600, 60)), ("1/h", Rate(1, 3600))]
)
def test_a_rate_is_so_many_in_a_second_a_minute_or_an_hour(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "100", "0/s", "-1/s", "1.5/s", "1/d", "1/ s", "9999999999/s", "١/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a rate such as"):
        parse_rate(text)


def test_a_bucket_holds_as_many_as_the_rate_names_and_fills_evenly() -> None:
    buckets = RateLimiter(Rate(4, 2))
    assert [buckets.take("a", 10.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert buckets.take("b", 10.0) == 0.0
    assert buckets.take("a", 10.25) == 0.25
    assert buckets.take("a", 10.5) == 0.0
    assert [buckets.take("a", 100.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 0.5]


@given(
    st.integers(1, 50),
    st.sampled_from([1, 60, 3600]),
    st.lists(st.floats(0, 10, allow_nan=False), max_size=200),
)
def test_a_caller_gets_no_more_than_the_rate(calls: int, per_s: int, pauses_s: list[float]) -> None:
    buckets, now_s, taken = RateLimiter(Rate(calls, per_s)), 0.0, 0
    for pause_s in pauses_s:
        now_s += pause_s
        wait_s = buckets.take("a", now_s)
        taken += wait_s == 0.0
        assert 0.0 <= wait_s <= per_s / calls + 1e-6
    assert taken <= calls + now_s * calls / per_s + 1e-3


def test_a_caller_is_admitted_after_the_returned_wait() -> None:
    buckets = RateLimiter(Rate(3, 60))
    for _ in range(3):
        buckets.take("a", 0.1)
    assert buckets.take("a", 0.1 + buckets.take("a", 0.1)) == 0.0


def test_no_more_buckets_are_kept_than_there_is_room_for_and_the_emptiest_stay() -> None:
    buckets = RateLimiter(Rate(2, 10), most=10)
    buckets.take("busy", 0.0)
    buckets.take("busy", 0.0)
    for number in range(100):
        buckets.take(f"p{number}", 0.0)
        assert len(buckets._full_at_s) <= 10
    assert buckets.take("busy", 0.0) == 5.0
