"""From what was measured to a verdict."""

from __future__ import annotations

import pytest

from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.report_model import Fault, Verdict
from faultkit.scenario.scenario_model import Expect
from faultkit.scenario.verdict import Evidence, Misses, judge, why_not_met

OK = Sample(0.0, 0.0, 0.1, status=200)
REFUSED = Sample(0.0, 0.0, 0.001, failure=Failure.REFUSED)
ERROR = Sample(0.0, 0.0, 0.1, status=503, failure=Failure.STATUS)
CUT = Sample(0.0, 0.0, 0.1, status=200, failure=Failure.RESET)
SLO = Slo("latency", "95% @ 50ms", 95.0, 50.0)


def fault(injected: int) -> Fault:
    return Fault("latency", "latency", "", {}, ((0.0, 1.0),), injected)


def slo(passed: bool | None) -> SloResult:
    return SloResult(SLO, passed, None, None, 0, 0)


@pytest.mark.parametrize(
    ("expect", "sample", "why"),
    [
        (Expect(), REFUSED, None),
        (Expect(all_slo_are_valid=True), REFUSED, None),
        (Expect(status=200), OK, None),
        (Expect(status=200), ERROR, "status: expected 200, got 503"),
        (Expect(status=503), ERROR, None),
        (Expect(status=200), REFUSED, "expected status 200, got none (refused)"),
        (Expect(status=200), CUT, "expected a whole answer, got reset"),
        (Expect(response_time_under_ms=100.0), OK, None),
        (Expect(response_time_under_ms=99.9), OK, "response time: expected at most 99.9 ms, got 100.0 ms"),
        (Expect(response_time_under_ms=500.0), REFUSED, "expected an answer, got none (refused)"),
        (Expect(response_time_under_ms=500.0), ERROR, None),
        (Expect(status=200, response_time_under_ms=50.0), ERROR, "status: expected 200, got 503"),
    ],
)
def test_a_call_meets_its_expectation_or_says_why_not(
    expect: Expect, sample: Sample, why: str | None
) -> None:
    assert why_not_met(expect, sample) == why


def test_that_we_started_late_is_not_the_services_doing() -> None:
    late = OK._replace(intended=1.0, started=1.5)
    assert why_not_met(Expect(response_time_under_ms=300.0), late) is None


def test_every_request_of_a_load_is_held_to_the_expectation() -> None:
    misses = Misses(Expect(status=200))
    misses.add(Samples.of([OK, ERROR]))
    misses.add(Samples.of([OK, REFUSED]))
    assert (misses.count, misses.first) == (2, "status: expected 200, got 503")


def test_where_nothing_is_expected_nothing_is_missed() -> None:
    misses = Misses(Expect())
    misses.add(Samples.of([ERROR]))
    assert (misses.count, misses.first) == (0, None)


@pytest.mark.parametrize(
    ("evidence", "verdict", "reasons"),
    [
        (Evidence(Expect(), 1, 0, None, (), ()), "passed", ()),
        (Evidence(Expect(), 1, 0, None, (slo(True),), (fault(1),)), "passed", ()),
        (
            Evidence(Expect(all_slo_are_valid=True), 1, 0, None, (slo(False),), (fault(1),)),
            "failed",
            ('SLO "95% @ 50ms" was missed',),
        ),
        (
            Evidence(Expect(all_slo_are_valid=True), 1, 0, None, (slo(None),), (fault(1),)),
            "inconclusive",
            ('SLO "95% @ 50ms" could not be judged',),
        ),
        (
            Evidence(Expect(status=200), 0, 0, None, (), ()),
            "inconclusive",
            ("no request was made",),
        ),
        (
            Evidence(Expect(status=200), 0, 0, None, (), (), baseline_miss="status: expected 200, got 503"),
            "failed",
            ("the baseline call, without faults, missed it: status: expected 200, got 503",),
        ),
        (
            Evidence(Expect(status=200), 4, 2, "status: expected 200, got 503", (), (fault(1),)),
            "failed",
            ("2 of 4 calls missed the expectation, first: status: expected 200, got 503",),
        ),
        (
            Evidence(Expect(status=200), 4, 0, None, (), (fault(1), fault(0))),
            "not exercised",
            ("latency never acted: no request met it",),
        ),
        (
            Evidence(Expect(), 4, 0, None, (), (fault(1),), ("The machine was busy.",)),
            "inconclusive",
            ("The machine was busy.",),
        ),
        (
            Evidence(Expect(status=200), 4, 1, None, (), (fault(1),), ("The machine was busy.",)),
            "inconclusive",
            ("The machine was busy.", "1 of 4 calls missed the expectation"),
        ),
        (
            Evidence(Expect(status=200), 4, 0, None, (), (fault(0),), (), "it was stopped"),
            "unfinished",
            ("it was stopped",),
        ),
    ],
)
def test_the_verdict_is_the_gravest_that_the_evidence_allows(
    evidence: Evidence, verdict: Verdict, reasons: tuple[str, ...]
) -> None:
    assert judge(evidence) == (verdict, reasons)
