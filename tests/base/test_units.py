"""Durations: text to seconds and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.units import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("5m", 300.0),
        ("1h 30m", 5400.0),
        ("1h30m", 5400.0),
        ("250ms", 0.25),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2d", 172800.0),
        ("40us", 0.00004),
        ("40µs", 0.00004),
        ("3 minutes 1 second", 181.0),
        ("  7  ", 7.0),
        ("0", 0.0),
        ("0.25", 0.25),
        ("0.1s 0.2s", 0.3),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "s", "ten", "-5s", "+5s", "1e3", "10 20s", "5s 3", "5x", "5S", "1,5s", "nan", "inf", "٣s"],
)
def test_what_is_not_a_duration_is_named(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == (
        f'expected a duration such as "10s", "250ms", "1h 30m" or a number of seconds, got "{text}"'
    )


def test_an_absurdly_long_duration_is_refused_and_cut_short_in_the_message() -> None:
    with pytest.raises(ValueError) as caught:
        parse_duration("9" * 5000)
    assert str(caught.value).endswith('got "' + "9" * 60 + '"')
    with pytest.raises(ValueError):
        parse_duration("9" * 399)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (0.0005, "0.5ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (60, "1m"),
        (90.25, "1m 30.25s"),
        (5400, "1h 30m"),
        (86400, "1d"),
        (90061, "1d 1h 1m 1s"),
    ],
)
def test_seconds_are_written_in_their_usual_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_what_is_not_a_length_of_time_has_no_text(seconds: float) -> None:
    with pytest.raises(ValueError, match="expected a number of seconds from 0"):
        format_duration(seconds)


@settings(deadline=None)
@given(st.floats(min_value=0, max_value=1e18))
def test_a_written_duration_reads_back_to_the_same_number(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
