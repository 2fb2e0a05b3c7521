from __future__ import annotations

from math import inf, nan

import pytest

from faultkit.base.figures import counted, duration, percentage, rounded, seconds, share, signed, size, tick


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
    assert [signed(text) for text in ("3 ms", "−3 ms", "0 ms", "–")] == ["+3 ms", "−3 ms", "0 ms", "–"]
    assert [share(1, 3), share(0, 3), share(0, 0)] == ["33.3 %", "0 %", "–"]
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
