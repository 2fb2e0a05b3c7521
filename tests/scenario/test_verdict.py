"""The verdict on an item, from its measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.faults.http.http_error import HttpError
from faultkit.load.expectation import Expectation, Misses, why_not_met
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import Slo, SloResult
from faultkit.load.summary import Summary
from faultkit.plan import Rule
from faultkit.scenario.report.report_model import ReportedFault, Verdict
from faultkit.scenario.scenario_model import WrittenFault
from faultkit.scenario.verdict import VerdictEvidence, judge_item, why_no_success
from tests.load.rows import summarize

OK = Sample(0.0, 0.0, 0.1, status=200)
REFUSED = Sample(0.0, 0.0, 0.001, failure=Failure.REFUSED)
ERROR = Sample(0.0, 0.0, 0.1, status=503, failure=Failure.STATUS)
CUT = Sample(0.0, 0.0, 0.1, status=200, failure=Failure.RESET)
SLO = Slo("latency", "95% @ 50ms", 95.0, 50.0)


def fault(injected: int) -> ReportedFault:
    return ReportedFault("latency", "latency", "", {}, ((0.0, 1.0),), injected)


def slo(passed: bool | None) -> SloResult:
    return SloResult(SLO, passed, None, None, 0, 0)


@pytest.mark.parametrize(
    ("expect", "sample", "why"),
    [
        (Expectation(), REFUSED, None),
        (Expectation(all_slo_are_valid=True), REFUSED, None),
        (Expectation(status=200), OK, None),
        (Expectation(status=200), ERROR, "status: expected 200, got 503"),
        (Expectation(status=503), ERROR, None),
        (Expectation(status=200), REFUSED, "expected status 200, got none (refused)"),
        (Expectation(status=200), CUT, "expected a whole answer, got reset"),
        (Expectation(response_time_under_ms=100.0), OK, None),
        (
            Expectation(response_time_under_ms=99.9),
            OK,
            "response time: expected at most 99.9 ms, got 100.0 ms",
        ),
        (Expectation(response_time_under_ms=500.0), REFUSED, "expected an answer, got none (refused)"),
        (Expectation(response_time_under_ms=500.0), ERROR, None),
        (Expectation(status=200, response_time_under_ms=50.0), ERROR, "status: expected 200, got 503"),
    ],
)
def test_a_call_meets_its_expectation_or_has_a_reason(
    expect: Expectation, sample: Sample, why: str | None
) -> None:
    assert why_not_met(expect, sample) == why


def test_that_we_started_late_is_not_the_services_doing() -> None:
    late = OK._replace(intended=1.0, started=1.5)
    assert why_not_met(Expectation(response_time_under_ms=300.0), late) is None


def test_every_request_of_a_load_is_held_to_the_expectation() -> None:
    misses, expect = Misses(), Expectation(status=200)
    misses.add(expect, Samples.of([OK, ERROR]))
    misses.add(expect, Samples.of([OK, REFUSED._replace(intended=1.0)]))
    assert (misses.count, misses.first) == (2, "status: expected 200, got 503")


def test_where_nothing_is_expected_nothing_is_missed() -> None:
    misses = Misses()
    misses.add(Expectation(), Samples.of([ERROR]))
    assert (misses.count, misses.first) == (0, None)


@pytest.mark.parametrize(
    ("evidence", "verdict", "reasons"),
    [
        (VerdictEvidence(Expectation(), 1, 0, None, (), ()), "passed", ()),
        (VerdictEvidence(Expectation(), 1, 0, None, (slo(True),), (fault(1),)), "passed", ()),
        (
            VerdictEvidence(Expectation(all_slo_are_valid=True), 1, 0, None, (slo(False),), (fault(1),)),
            "failed",
            ('SLO "95% @ 50ms" was missed',),
        ),
        (
            VerdictEvidence(Expectation(), 600, 0, None, (SloResult(SLO, False, None, None, 31, 600),), ()),
            "failed",
            (
                'SLO "95% @ 50ms" was missed: 31 of 600 requests failed or were late, so there is no answer '
                "at it",
            ),
        ),
        (
            VerdictEvidence(Expectation(all_slo_are_valid=True), 1, 0, None, (slo(None),), (fault(1),)),
            "inconclusive",
            ('SLO "95% @ 50ms" could not be judged',),
        ),
        (
            VerdictEvidence(Expectation(status=200), 0, 0, None, (), ()),
            "inconclusive",
            ("no request was made",),
        ),
        (
            VerdictEvidence(Expectation(), 4, 0, None, (), (fault(0),), out_of_reach="the proxy went away"),
            "inconclusive",
            ("the proxy went away",),
        ),
        (
            VerdictEvidence(
                Expectation(), 4, 0, None, (), (), out_of_reach="it went", cut_short="it was stopped"
            ),
            "unfinished",
            ("it was stopped",),
        ),
        (
            VerdictEvidence(
                Expectation(status=200), 0, 0, None, (), (), baseline_miss="status: expected 200, got 503"
            ),
            "failed",
            ("the baseline call, without faults, missed it: status: expected 200, got 503",),
        ),
        (
            VerdictEvidence(Expectation(status=200), 4, 2, "status: expected 200, got 503", (), (fault(1),)),
            "failed",
            ("2 of 4 calls missed the expectation, first: status: expected 200, got 503",),
        ),
        (
            VerdictEvidence(Expectation(status=200), 4, 0, None, (), (fault(1), fault(0))),
            "not exercised",
            ("latency never acted: no request met it",),
        ),
        (
            VerdictEvidence(Expectation(status=200), 4, 1, None, (), (fault(1), fault(0))),
            "failed",
            ("1 of 4 calls missed the expectation", "latency never acted: no request met it"),
        ),
        (
            VerdictEvidence(Expectation(status=200), 4, 0, None, (), (fault(0),), connections=4),
            "not exercised",
            (
                "latency never acted: 4 connections came through the proxies, but its match, trigger and "
                "schedule chose none, or its settings change nothing",
            ),
        ),
        (
            VerdictEvidence(
                Expectation(status=200), 4, 0, None, (), (replace(fault(0), windows=()),), connections=4
            ),
            "not exercised",
            ("latency never acted: its schedule has no time within the run",),
        ),
        (
            VerdictEvidence(Expectation(), 4, 0, None, (), (fault(1),), ("The machine was busy.",)),
            "inconclusive",
            ("The machine was busy.",),
        ),
        (
            VerdictEvidence(Expectation(status=200), 4, 1, None, (), (fault(1),), ("The machine was busy.",)),
            "inconclusive",
            ("The machine was busy.", "1 of 4 calls missed the expectation"),
        ),
        (
            VerdictEvidence(Expectation(status=200), 4, 0, None, (), (fault(0),), (), "it was stopped"),
            "unfinished",
            ("it was stopped",),
        ),
        (
            VerdictEvidence(Expectation(), 4, 0, None, (), (fault(1),), no_success="all 401"),
            "inconclusive",
            ("all 401",),
        ),
        (
            VerdictEvidence(Expectation(), 4, 0, None, (slo(False),), (fault(1),), no_success="all 500"),
            "failed",
            ('SLO "95% @ 50ms" was missed',),
        ),
    ],
)
def test_the_verdict_is_the_gravest_that_the_evidence_allows(
    evidence: VerdictEvidence, verdict: Verdict, reasons: tuple[str, ...]
) -> None:
    assert judge_item(evidence) == (verdict, reasons)


UNAUTHORIZED = OK._replace(status=401)
TOO_MANY = OK._replace(status=429)
ANSWERING = WrittenFault("httperror", Rule("http_error", HttpError(status=429)))


def summary(*samples: Sample) -> Summary:
    return summarize(Samples.of(samples), None, total_s=1.0)


@pytest.mark.parametrize(
    ("expect", "run", "baseline", "why"),
    [
        (Expectation(), [OK], [UNAUTHORIZED, OK], None),
        (Expectation(), [REFUSED], [OK], None),
        (
            Expectation(all_slo_are_valid=True),
            [OK],
            [UNAUTHORIZED, UNAUTHORIZED],
            "no answer of the baseline, without faults, was 2xx or 3xx (status 401: 2)",
        ),
        (
            Expectation(),
            [ERROR],
            [ERROR, REFUSED],
            "no answer of the baseline, without faults, was 2xx or 3xx (status 503: 1, no answer: 1)",
        ),
        (Expectation(status=401), [UNAUTHORIZED], [UNAUTHORIZED], None),
        (Expectation(), [UNAUTHORIZED], None, "no answer was 2xx or 3xx (status 401: 1)"),
        (Expectation(), [UNAUTHORIZED, OK], None, None),
        (Expectation(), [ERROR], None, "no answer was 2xx or 3xx (status 503: 1)"),
        (
            Expectation(response_time_under_ms=900.0),
            [ERROR, ERROR, UNAUTHORIZED, REFUSED],
            None,
            "no answer was 2xx or 3xx (status 401: 1, status 503: 2, no answer: 1)",
        ),
        (Expectation(status=503), [ERROR], None, None),
        (Expectation(), [REFUSED], None, None),
    ],
)
def test_answers_that_never_were_a_success_have_a_reason(
    expect: Expectation, run: list[Sample], baseline: list[Sample] | None, why: str | None
) -> None:
    before = None if baseline is None else summary(*baseline)
    assert why_no_success(expect, summary(*run), before, [], {}) == why


@pytest.mark.parametrize(
    ("run", "injected", "why"),
    [
        ([TOO_MANY], 1, None),
        ([TOO_MANY, TOO_MANY, OK], 2, None),
        # Injections that no answer shows: the service called a dependency, and answered by itself.
        ([OK], 3, None),
        ([TOO_MANY], 3, None),
        (
            [TOO_MANY, UNAUTHORIZED, UNAUTHORIZED],
            1,
            "no answer, apart from those that faults made, was 2xx or 3xx (status 401: 2, status 429: 1)",
        ),
        (
            [TOO_MANY, TOO_MANY],
            1,
            "no answer, apart from those that faults made, was 2xx or 3xx (status 429: 2)",
        ),
        ([ERROR], 1, "no answer was 2xx or 3xx (status 503: 1)"),
    ],
)
def test_answers_that_the_fault_made_do_not_excuse_those_of_the_service(
    run: list[Sample], injected: int, why: str | None
) -> None:
    assert why_no_success(Expectation(), summary(*run), None, [ANSWERING], {"http_error": injected}) == why


def test_a_success_that_the_fault_made_is_none_of_the_service() -> None:
    answering = WrittenFault("http_error", Rule("ok", HttpError(status=200)))
    why = why_no_success(Expectation(), summary(OK, ERROR), None, [answering], {"ok": 1})
    assert why == (
        "no answer, apart from those that faults made, was 2xx or 3xx (status 200: 1, status 503: 1)"
    )


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (OK, None),
        (ERROR, "the baseline call, without faults, got no 2xx or 3xx (status 503)"),
        (REFUSED, "the baseline call, without faults, got no 2xx or 3xx (refused)"),
    ],
)
def test_a_baseline_call_is_a_baseline(call: Sample, why: str | None) -> None:
    assert why_no_success(Expectation(), summary(ERROR), call, [], {}) == why
    assert why_no_success(Expectation(status=200), summary(ERROR), call, [], {}) is None
