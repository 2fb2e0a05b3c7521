"""Numbers as text: exact forms, and values that are not numbers."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.numbers import (
    count_and_share,
    decimals,
    duration,
    duration_in_words,
    instant,
    instant_to_second,
    milliseconds,
    percentage,
    rate,
    rounded,
    seconds,
    share_of,
    shortest,
    signed_column,
    signed_prose,
    size,
    tick,
)
from faultkit.base.text import counted, printable_line


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
    assert duration_in_words(seconds) == text


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
    assert instant_to_second("2025-06-27T14:14:36.689011165Z") == "2025-06-27T14:14:36"


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
    assert shortest(value) == text


def test_what_is_no_number_is_a_dash() -> None:
    assert [decimals(nan), milliseconds(inf), rate(None), signed_column(nan, "ms")] == ["-"] * 4


def test_units_and_signs() -> None:
    assert milliseconds(1.005, 1) == "1.0 ms"
    assert rate(29.954) == "29.95/s"
    assert signed_column(1.5, "ms") == "+1.50 ms"
    assert signed_column(-0.2, "%") == "-0.20 %"
    assert signed_column(-0.001, "%") == "+0.00 %"


def test_a_share_of_nothing_is_no_percent() -> None:
    assert count_and_share(15, 31) == "15 (48.4%)"
    assert count_and_share(0, 0) == "0 (0.0%)"


def test_flat_text_is_one_printable_line() -> None:
    assert printable_line(" a\n\tb\x1b[31m\x00 c ") == "a b [31m c"


@given(st.text())
def test_any_text_becomes_flat_and_stays_so(text: str) -> None:
    line = printable_line(text)
    assert line.isprintable()
    assert printable_line(line) == line


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (0.004, "0 ms"),
        (0.42, "0.42 ms"),
        (9.996, "10 ms"),
        (42.13, "42.1 ms"),
        (99.96, "100 ms"),
        (1234.4, "1,234 ms"),
        (9999.6, "10 s"),
        (12_340, "12.3 s"),
        (119_990, "2 min"),
        (320_000, "5 min 20 s"),
        (7_200_000, "2 h"),
        (9_000_000, "2 h 30 min"),
        (-42.13, "−42.1 ms"),
        (-12_340, "−12.3 s"),
        (-0.001, "0 ms"),
        (nan, "–"),
        (inf, "–"),
    ],
)
def test_durations_have_about_three_digits(ms: float, text: str) -> None:
    assert duration(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0"),
        (0.05, "0.05 ms"),
        (50, "50 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (1250, "1,250 ms"),
        (90_000, "90 s"),
        (120_000, "2 min"),
        (3_600_000, "1 h"),
    ],
)
def test_ticks_are_as_short_as_they_get(ms: float, text: str) -> None:
    assert tick(ms) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 %"),
        (0.004, "< 0.01 %"),
        (0.042, "0.04 %"),
        (12.34, "12.3 %"),
        (99.94, "99.9 %"),
        (99.97, "99.97 %"),
        (99.999, "> 99.99 %"),
        (100, "100 %"),
    ],
)
def test_a_percentage_is_neither_0_nor_100_by_rounding_alone(value: float, text: str) -> None:
    assert percentage(value) == text


def test_other_figures() -> None:
    assert [rounded(value) for value in (1234567, 0.5, -3)] == ["1,234,567", "0.5", "−3"]
    assert [seconds(value) for value in (0.5, 1, 320)] == ["0.5 s", "1 s", "5 min 20 s"]
    assert [signed_prose(text) for text in ("3 ms", "−3 ms", "0 ms", "–")] == ["+3 ms", "−3 ms", "0 ms", "–"]
    assert [share_of(1, 3), share_of(0, 3), share_of(0, 0)] == ["33.3 %", "0 %", "–"]
    assert [counted(1, "try", "tries"), counted(2000, "request")] == ["1 try", "2,000 requests"]
    assert [size(count) for count in (0, 999, 1000, 63_600, 999_600, 5 * 10**12, 10**16)] == [
        "0 B",
        "999 B",
        "1 kB",
        "63.6 kB",
        "1 MB",
        "5 TB",
        "10,000 TB",
    ]
