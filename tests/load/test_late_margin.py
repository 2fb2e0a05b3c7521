"""Lateness of this machine against the margins of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from faultkit.load.late_margin import LateBy, Limits, is_decided
from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.samples import Sample
from faultkit.load.slo import Slo
from faultkit.proxy.data_plane import LatenessSummary
from tests.load.rows import row, tally_of

LOAD = Load(10.0, 10.0)
ANSWERED = [row(number / 10, took_s=0.1) for number in range(100)]
TIMED_OUT = [row(number / 10, took_s=0.5, failure=Failure.TIMEOUT) for number in range(10)]
LATE = LateBy(usual_ms=20.0, call_ms=30.0, release_ms=10.0)


def decided(limits: Limits, late: LateBy = LATE, rows: Sequence[Sample] = ANSWERED) -> bool:
    tally = tally_of(*rows)
    return is_decided(limits, late, tally.summary(LOAD, total_s=10.0), tally, 10.0, LOAD)


@pytest.mark.parametrize(
    ("slo", "is_so"),
    [
        (Slo("latency", "kept by far", 95.0, 300.0), True),
        (Slo("latency", "kept by 10 ms", 95.0, 110.0), True),
        (Slo("latency", "missed by 10 ms", 95.0, 90.0), False),
        (Slo("latency", "missed by far", 95.0, 50.0), True),
        (Slo("latency", "a limit that is all lateness", 95.0, 5.0), True),
        (Slo("availability", "kept by far", 99.0, 300.0), True),
        (Slo("availability", "kept by 10 ms", 99.0, 110.0), True),
        (Slo("availability", "missed by 10 ms", 99.0, 90.0), False),
        (Slo("availability", "not about time", 99.0, None), True),
        (Slo("error", "not about time", 99.0, 1.0), True),
    ],
)
def test_lateness_puts_only_a_miss_in_doubt_that_it_could_explain(slo: Slo, is_so: bool) -> None:
    assert decided(Limits([slo])) is is_so


@pytest.mark.parametrize(("limit_ms", "is_so"), [(110.0, True), (99.0, False), (71.0, False), (69.0, True)])
def test_the_limit_of_each_call_is_held_against_its_slowest(limit_ms: float, is_so: bool) -> None:
    assert decided(Limits(call_ms=limit_ms)) is is_so


def test_timeouts_are_doubtful_only_if_answers_came_close_to_the_limit() -> None:
    close = [row(number / 10, took_s=0.49) for number in range(10)]
    missed = Limits([Slo("error", "few errors", 99.0, 1.0)], timeout_ms=500.0, missed=True)
    assert decided(missed, rows=[*ANSWERED, *TIMED_OUT])
    assert not decided(missed, rows=[*ANSWERED, *TIMED_OUT, *close])
    kept = Limits([Slo("error", "most may fail", 1.0, 99.0)], timeout_ms=500.0)
    assert decided(kept, rows=[*ANSWERED, *TIMED_OUT, *close])


def test_errors_are_doubtful_if_releases_were_so_late_that_a_service_may_have_given_up() -> None:
    failing = [*ANSWERED, row(0.0, failure=Failure.STATUS)]
    missed = Limits([Slo("error", "few errors", 99.5, 0.5)], missed=True)
    assert decided(missed, rows=failing)
    assert not decided(missed, LateBy(250.0, 300.0, release_ms=120.0), failing)


def test_lateness_is_that_of_starts_and_of_releases_in_both_directions() -> None:
    summary = tally_of(*(row(number / 10, late_s=0.02) for number in range(100))).summary(LOAD, total_s=10.0)
    late = LateBy.of(summary, LatenessSummary(10, 1000.0, 5000.0, 8000.0))
    assert late.usual_ms == pytest.approx(30.0)
    assert (late.call_ms, late.release_ms) == (16.0, 5.0)
