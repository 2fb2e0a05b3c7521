"""Delays from a table of percentiles."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults.delay_table import delay_table
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http_fault import HttpVerdict, RequestContext
from faultkit.faults.stream.latency import Latency

PERCENTILES = (("p50", 20.0), ("p90", 80.0), ("p99", 400.0))


@pytest.mark.parametrize(
    ("percent", "linear", "log"),
    [
        (0, 20, 20),
        (50, 20, 20),
        (70, 50, 40),
        (90, 80, 80),
        (99, 400, 400),
        (99.9, 400, 400),
        (100, 400, 400),
    ],
)
def test_between_percentiles_delays_are_interpolated_and_nothing_is_beyond(
    percent: float, linear: float, log: float
) -> None:
    for is_log, expected in ((False, linear), (True, log)):
        table = delay_table(PERCENTILES, is_log=is_log, most_ms=1e6)
        assert table.delay_ms(percent) == pytest.approx(expected)


def test_min_and_max_are_the_ends() -> None:
    table = delay_table((("max", 10.0), ("min", 0.0)), is_log=True, most_ms=1e6)
    assert (table.delay_ms(0), table.delay_ms(50), table.delay_ms(100)) == (0, 5, 10)


@pytest.mark.parametrize("is_log", [False, True])
def test_what_is_drawn_has_the_percentiles_and_the_mean(is_log: bool) -> None:
    fault = Latency("table", percentiles=PERCENTILES, interpolation="log" if is_log else "linear")
    rng = Rng.keyed("table")
    drawn = sorted(fault.draw_ms(rng) for _ in range(20_000))
    assert [drawn[int(20_000 * share)] for share in (0.3, 0.5, 0.9, 0.99)] == pytest.approx(
        [20, 20, 80, 400], rel=0.05
    )
    mean = delay_table(PERCENTILES, is_log=is_log, most_ms=1e6).mean_ms()
    assert math.fsum(drawn) / len(drawn) == pytest.approx(mean, rel=0.03)


def test_a_request_waits_as_the_table_says() -> None:
    fault = HttpDelay(distribution="table", percentiles=(("p50", 250.0),))
    assert fault.judge(RequestContext(0.0, Rng.keyed(0))) == HttpVerdict(delay_s=0.25)
    assert fault.least_delay_ms == 250


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9), st.booleans(), st.integers(0, 99))
def test_a_table_never_decreases(delays: list[float], is_log: bool, percent: int) -> None:
    pairs = tuple((f"p{place * 10}", delay) for place, delay in enumerate(sorted(delays)))
    table = delay_table(pairs, is_log=is_log, most_ms=1e6)
    low, high = table.delay_ms(percent), table.delay_ms(percent + 1)
    assert low <= high or low == pytest.approx(high)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"distribution": "table"},
            "percentiles: expected at least one, such as p50: 20, for table, got none",
        ),
        (
            {"percentiles": {"p50": 1}},
            "distribution: expected table beside percentiles or samples, got 'normal'",
        ),
        (
            {"distribution": "table", "percentiles": {"p90": 5, "p50": 9}},
            "percentiles: expected delays that never decrease, got p50 9 and p90 5",
        ),
        (
            {"distribution": "table", "percentiles": {"median": 5}},
            "percentiles: expected names such as p50, p99.9 or max, got 'median'",
        ),
        (
            {"distribution": "table", "percentiles": {"p100": 5, "max": 5}},
            "percentiles: expected each percentile once, got p100 and max",
        ),
        (
            {"distribution": "table", "percentiles": {"p50": -1}},
            "percentiles: expected 0 to 86,400,000 ms for p50, got -1",
        ),
        ({"percentiles": {"p50": "x"}}, "percentiles: expected a number for p50, got 'x'"),
        (
            {"distribution": "table", "samples": "a.txt"},
            "samples: expected only in a file of a plan or a scenario or a flag, which read it where it is "
            "(percentiles may be given everywhere), got 'a.txt'",
        ),
    ],
)
def test_settings_that_make_no_table_are_refused(settings: dict[str, object], problem: str) -> None:
    for cls in (Latency, HttpDelay):
        with pytest.raises(ValueError) as caught:
            cls(**settings)  # type: ignore[arg-type]
        assert str(caught.value) == problem
