"""Figures as text: exact forms, and nothing that is not a number."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.numerals import (
    decimals,
    flat,
    humanised,
    instant,
    milliseconds,
    rate,
    second,
    share,
    short,
    signed,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (10.329, "10 seconds and 329 ms"),
        (0.4639, "464 ms"),
        (0, "0 ms"),
        (0.0004, "0 ms"),
        (1, "1 second"),
        (1.001, "1 second and 1 ms"),
        (59.9996, "1 minute"),
        (90.005, "1 minute, 30 seconds and 5 ms"),
        (3600, "1 hour"),
        (7325.25, "2 hours, 2 minutes, 5 seconds and 250 ms"),
        (-1, "0 ms"),
        (nan, "-"),
    ],
)
def test_a_length_of_time_is_said_in_words(seconds: float, text: str) -> None:
    assert humanised(seconds) == text


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2025-06-27T14:14:36.689011165Z", "2025-06-27 14:14:36.689011165 UTC"),
        ("2025-06-27T14:14:36.689011+00:00", "2025-06-27 14:14:36.689011000 UTC"),
        ("2025-06-27T14:14:36Z", "2025-06-27 14:14:36.000000000 UTC"),
        ("yesterday", "yesterday"),
    ],
)
def test_an_instant_has_nine_decimals_and_its_zone(iso: str, text: str) -> None:
    assert instant(iso) == text


def test_an_instant_to_the_second_has_no_zone() -> None:
    assert second("2025-06-27T14:14:36.689011165Z") == "2025-06-27T14:14:36"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (0.5, "0.5"),
        (99.95, "99.95"),
        (1e6, "1000000"),
        (-0.0, "0"),
        (1e-9, "0"),
        (None, "-"),
        (inf, "-"),
    ],
)
def test_a_short_number_has_no_digit_too_many(value: float | None, text: str) -> None:
    assert short(value) == text


def test_what_is_no_number_is_a_dash() -> None:
    assert [decimals(nan), milliseconds(inf), rate(None), signed(nan, "ms")] == ["-"] * 4


def test_units_and_signs() -> None:
    assert milliseconds(1.005, 1) == "1.0 ms"
    assert rate(29.954) == "29.95/s"
    assert signed(1.5, "ms") == "+1.50 ms"
    assert signed(-0.2, "%") == "-0.20 %"
    assert signed(-0.001, "%") == "+0.00 %"


def test_a_share_of_nothing_is_no_percent() -> None:
    assert share(15, 31) == "15 (48.4%)"
    assert share(0, 0) == "0 (0.0%)"


def test_flat_text_is_one_printable_line() -> None:
    assert flat(" a\n\tb\x1b[31m\x00 c ") == "a b [31m c"


@given(st.text())
def test_any_text_becomes_flat_and_stays_so(text: str) -> None:
    line = flat(text)
    assert line.isprintable()
    assert flat(line) == line
