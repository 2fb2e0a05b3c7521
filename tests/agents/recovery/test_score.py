from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.agents.recovery import (
    RecoveryObservation,
    RecoveryReport,
    meets_recovery_budget,
    score_recovery,
)

MARKS = st.none() | st.integers(-(2**63), 2**64)


def test_the_example_of_the_seed() -> None:
    report = score_recovery(RecoveryObservation(0, 3_000, 3_200, 3_000))
    assert report == RecoveryReport(True, True, True, 3_000, 3_200)
    assert meets_recovery_budget(report, 5_000)


@pytest.mark.parametrize(
    ("observation", "report"),
    [
        (RecoveryObservation(0, None, None, 3_000), RecoveryReport(False, False, False, None, None)),
        (RecoveryObservation(100, 3_101, None, 3_000), RecoveryReport(True, False, False, 3_001, None)),
        (RecoveryObservation(100, 3_100, None, 3_000), RecoveryReport(True, False, True, 3_000, None)),
        (RecoveryObservation(100, 99, 400, 3_000), RecoveryReport(False, True, False, None, 300)),
        (RecoveryObservation(100, 200, 150, 3_000), RecoveryReport(True, False, True, 100, None)),
        (RecoveryObservation(100, 200, 99, 3_000), RecoveryReport(True, False, True, 100, None)),
        (RecoveryObservation(100, 100, 100, 0), RecoveryReport(True, True, True, 0, 0)),
        (RecoveryObservation(100, None, 250, 3_000), RecoveryReport(False, True, False, None, 150)),
    ],
)
def test_marks_that_are_missing_or_out_of_order_did_not_happen(
    observation: RecoveryObservation, report: RecoveryReport
) -> None:
    assert score_recovery(observation) == report


@pytest.mark.parametrize(("limit", "meets"), [(199, False), (200, True), (201, True)])
def test_the_limit_itself_is_within_the_budget(limit: int, meets: bool) -> None:
    assert meets_recovery_budget(score_recovery(RecoveryObservation(0, 100, 200, 100)), limit) is meets


def test_who_never_recovered_meets_no_budget() -> None:
    assert not meets_recovery_budget(score_recovery(RecoveryObservation(0, 100, None, 100)), 2**63)


@given(st.integers(-(2**63), 2**64), MARKS, MARKS, st.integers(0, 2**64))
def test_no_duration_is_negative_and_recovery_never_comes_before_detection(
    start: int, detected: int | None, recovered: int | None, budget: int
) -> None:
    report = score_recovery(RecoveryObservation(start, detected, recovered, budget))
    detection, recovery = report.time_to_detection_ms, report.time_to_recovery_ms
    assert detection is None or detection >= 0
    assert recovery is None or recovery >= (detection or 0)
    assert (report.detected, report.recovered) == (detection is not None, recovery is not None)
    assert report.clean_timeout == (detection is not None and detection <= budget)
