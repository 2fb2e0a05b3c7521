"""Verdicts on two versions of a service, by their figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.base.sample_statistics import Interval
from faultkit.code.proof.healthy_answers import Unlike
from faultkit.code.proof.verdict import (
    HEALTHY,
    TIME,
    UPSTREAM_CALLS,
    Figures,
    Mean,
    Verdict,
    compare,
    confirmed,
    overall_verdict,
)
from faultkit.load.response import Failure


def figures(statuses: dict[int, int], time_ms: float, calls: int = 40, *, injected: int = 40) -> Figures:
    costs = {TIME.name: Mean.of(time_ms, 1.0, 40), UPSTREAM_CALLS.name: Mean.of_count(calls, 40)}
    return Figures(40, statuses, costs, injected, 40.0, mean_ms=time_ms, upstream_requests=calls)


GOOD = figures({200: 40}, 5.0)
SLOW = figures({200: 40}, 2_000.0)
HUNG = figures({}, 10_000.0)
HALF = figures({200: 20}, 5_000.0)
CRASHED = figures({500: 40}, 1_100.0)
HANDLED = figures({504: 40}, 1_100.0)
PARTLY = figures({200: 26, 500: 14}, 5.0)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "words"),
    [
        (HUNG, HANDLED, "better", "handled: 0 % of calls, now 100 %, answered: 0 % of calls, now 100 %"),
        (HANDLED, HUNG, "worse", "answered: 100 % of calls, now 0 %"),
        (HUNG, CRASHED, "better", "answered: 0 % of calls, now 100 %"),
        (CRASHED, HANDLED, "better", "handled: 0 % of calls, now 100 %"),
        (HANDLED, CRASHED, "worse", "handled: 100 % of calls, now 0 %"),
        (SLOW, HANDLED, "worse", "succeeded: 100 % of calls, now 0 %"),
        (HANDLED, SLOW, "better", "succeeded: 0 % of calls, now 100 %; the price is time: 1,100"),
        (HALF, HANDLED, "worse", "A trade-off: succeeded: 50 % of calls, now 0 %; against that, "),
        (SLOW, GOOD, "better", "time: 2,000, now 5 ms"),
        (GOOD, SLOW, "worse", "time: 5, now 2,000 ms"),
        (SLOW, figures({200: 40}, 1_900.0), "no difference", "No figure differs by more than chance"),
        (GOOD, figures({200: 38, 500: 2}, 5.0), "no difference", "No figure differs by more than chance"),
        (GOOD, figures({200: 40}, 5.0, 120), "worse", "upstream calls: 1, now 3 a call"),
    ],
)  # fmt: skip
def test_callers_come_before_costs(before: Figures, after: Figures, verdict: Verdict, words: str) -> None:
    compared = compare("blackhole", before, after)
    assert (compared.verdict, words in compared.reason) == (verdict, True), compared.reason


def test_retries_that_gain_nothing_but_the_status_of_the_error_are_worse() -> None:
    """6 × 500 in 1.1 s with 6 upstream calls became 6 × 504 in 3.3 s with 18 upstream calls."""
    compared = compare("blackhole", CRASHED, figures({504: 40}, 3_300.0, 120))
    assert compared.verdict == "worse"
    assert compared.why == (
        "A trade-off: time: 1,100, now 3,300 ms, upstream calls: 1, now 3 a call; "
        "against that, handled: 0 % of calls, now 100 %"
    )


@pytest.mark.parametrize(
    ("calls", "time_ms", "verdict"),
    [(56, 300.0, "better"), (120, 300.0, "worse"), (56, 900.0, "better"), (56, 1_200.0, "worse")],
)
def test_successes_pay_for_twice_the_calls_and_a_second_and_no_more(
    calls: int, time_ms: float, verdict: Verdict
) -> None:
    compared = compare("30 % of 503", PARTLY, figures({200: 40}, time_ms, calls))
    assert compared.verdict == verdict
    assert ("A trade-off" in compared.why) == (verdict == "worse")
    assert ("the price is" in compared.why) == (verdict == "better")


def test_a_service_that_broke_down_is_no_measure_of_costs() -> None:
    down = replace(figures({}, 3.0, 1), ended=True)
    handled = figures({502: 40}, 10.0, 40)
    assert compare("resets", down, handled).verdict == "worse"
    assert compare("resets", down, handled, GOOD.costs).verdict == "better"
    assert compare("resets", down, figures({502: 40}, 10.0, 120), GOOD.costs).verdict == "worse"
    assert down.sentence().endswith("1 upstream call, and the process ended")


def test_a_new_version_whose_process_ended_is_worse_whatever_its_figures_say() -> None:
    ended = replace(GOOD, ended=True, ending="exit code 1. Error: bad config")
    compared = compare(HEALTHY, GOOD, ended)
    assert (compared.verdict, compared.why) == ("worse", "The process of the new version ended")
    assert compared.endings == ("the process of the new version ended: exit code 1. Error: bad config",)
    assert compare("resets", GOOD, replace(ended, injected=0)).verdict == "worse"
    assert compare("resets", ended, ended).verdict == "no difference"
    early = compare("resets", replace(ended, injected=0), GOOD)
    assert (early.verdict, early.why) == (
        "not shown", "The process of the old version ended before the fault acted"
    )  # fmt: skip


def test_a_verdict_that_rests_on_times_alone_needs_a_second_run() -> None:
    faster, same = compare("x", SLOW, GOOD), compare("x", SLOW, SLOW)
    assert faster.rests_on_machine
    assert not same.rests_on_machine
    assert not compare("x", HUNG, HANDLED).rests_on_machine
    assert not compare("x", GOOD, figures({200: 40}, 5.0, 120)).rests_on_machine
    assert confirmed(faster, faster).verdict == "better"
    assert confirmed(faster, same).verdict == "no difference"
    assert confirmed(faster, same).why.endswith("; a second run did not confirm it")


def test_a_difference_in_time_that_may_be_lateness_of_the_machine_does_not_count() -> None:
    late = replace(figures({200: 40}, 100.0), late_ms=96.0)
    assert compare(HEALTHY, GOOD, late).verdict == "no difference"
    assert compare(HEALTHY, GOOD, replace(late, late_ms=94.0)).verdict == "worse"


def other(found: Figures, count: int) -> Figures:
    """Return figures in which so many successes have other answers than without a fault."""
    return replace(found, unlike=Unlike(count, "`{}` instead of `[1]`"))


@pytest.mark.parametrize(
    ("before", "after", "verdict", "why"),
    [
        (CRASHED, other(GOOD, 40), "not shown", "40 of 40 calls got answers that differ from those without a "
         "fault, which is not judged: `{}` instead of `[1]`"),
        (PARTLY, other(GOOD, 14), "not shown", "14 of 40 calls got answers that differ from those without a "
         "fault, which is not judged: `{}` instead of `[1]`"),
        (SLOW, other(GOOD, 40), "not shown", "40 of 40 calls got answers that differ from those without a "
         "fault, which is not judged: `{}` instead of `[1]`"),
        (PARTLY, GOOD, "better", "succeeded: 65 % of calls, now 100 %, handled: 65 % of calls, now 100 %"),
        (PARTLY, other(GOOD, 2), "better", "succeeded: 65 % of calls, now 100 %, handled: 65 % of calls, now "
         "100 %; 2 of 40 calls got answers that differ from those without a fault"),
        (other(GOOD, 14), GOOD, "better", "succeeded as without a fault: 65 % of calls, now 100 %"),
        (other(GOOD, 14), other(GOOD, 14), "no difference", "No figure differs by more than chance"),
        (other(GOOD, 14), figures({200: 26, 502: 14}, 5.0), "not shown", "Before, 14 of 40 calls got answers "
         "that differ from those without a fault (`{}` instead of `[1]`), and such calls now fail, which is "
         "not judged"),
        (GOOD, other(SLOW, 40), "worse", "time: 5, now 2,000 ms; 40 of 40 calls got answers that differ from "
         "those without a fault, which is not judged: `{}` instead of `[1]`"),
        (GOOD, replace(CRASHED, unlike=Unlike(40, "")), "worse", "succeeded: 100 % of calls, now 0 %, "
         "time: 5, now 1,100 ms, handled: 100 % of calls, now 0 %"),
    ],
)  # fmt: skip
def test_answers_that_differ_from_the_healthy_ones_are_no_gain_and_no_loss(
    before: Figures, after: Figures, verdict: Verdict, why: str
) -> None:
    compared = compare("30 % of 503", before, after)
    assert compared.verdict == verdict
    assert sorted(compared.why.split(", ")) == sorted(why.split(", "))


@pytest.mark.parametrize("before", [HUNG, CRASHED, HANDLED])
def test_a_failed_upstream_that_is_blamed_on_the_caller_is_not_judged(before: Figures) -> None:
    compared = compare("blackhole", before, figures({404: 40}, 1_100.0))
    assert (compared.verdict, compared.why) == (
        "not shown", "40 of 40 calls got an answer such as 404, which says that the caller is at fault, and "
        "is not judged",
    )  # fmt: skip
    assert compare("blackhole", before, figures({404: 40}, 20_000.0, 120)).verdict == "worse"
    for status in (408, 429):
        assert "at fault" not in compare("blackhole", before, figures({status: 40}, 1_100.0)).why


def test_what_was_blamed_on_callers_before_is_no_change() -> None:
    wrong = figures({200: 20, 404: 20}, 5.0)
    assert compare("resets", wrong, wrong).verdict == "no difference"
    assert compare("resets", wrong, GOOD).verdict == "better"
    assert compare(HEALTHY, GOOD, figures({404: 40}, 5.0)).verdict == "worse"


def calling(**calls: int) -> Figures:
    return replace(figures({200: 40}, 5.0, sum(calls.values())), calls_by_path=calls)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (calling(GET=40), "POST: 1, now 0 a call"),
        (calling(GET=40, POST=20), "POST: 1, now 0.5 a call"),
        (calling(GET=40, PUT=40), "POST: 1, now 0 a call"),
        (calling(), "GET: 1, now 0 a call, POST: 1, now 0 a call"),
        (figures({200: 40}, 5.0, 40), "GET: 1, now 0 a call, POST: 1, now 0 a call"),
        (calling(GET=40, POST=39), ""),
    ],
)
def test_upstream_calls_that_are_left_out_without_a_fault_are_not_judged(after: Figures, words: str) -> None:
    compared = compare(HEALTHY, calling(GET=40, POST=40), after)
    if not words:
        assert compared.verdict == "no difference"
        return
    assert compared.verdict == "not shown"
    assert compared.why == (f"{words}, which is not judged: it may be a write that is lost, or an old answer")
    assert "not judged" not in compare("resets", calling(GET=40, POST=40), after).why


def test_fewer_upstream_calls_are_not_judged_by_their_number_if_paths_are_not_known() -> None:
    compared = compare(HEALTHY, figures({200: 40}, 5.0, 80), GOOD)
    assert compared.verdict == "not shown"
    assert compared.why.startswith("upstream calls: 2, now 1 a call, which is not judged")


def test_answers_that_differ_from_those_of_the_old_version_are_told() -> None:
    compared = compare(HEALTHY, GOOD, other(GOOD, 1))
    assert compared.verdict == "not shown"
    assert compared.why.startswith("1 of 40 calls got answers that differ from those of the old version, ")
    assert compared.document()["after"]["different_answers"] == 1


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (replace(CRASHED, injected=0), GOOD, "never acted"),
        (HUNG, replace(GOOD, doubt="the load was late."), "decides nothing: the load was late."),
        (replace(GOOD, requests=29), GOOD, "30 calls of each version are needed, and there were 29"),
    ],
)
def test_runs_that_decide_nothing_show_nothing(before: Figures, after: Figures, words: str) -> None:
    compared = compare("blackhole", before, after)
    assert (compared.verdict, words in compared.reason) == ("not shown", True), compared.reason


def test_without_a_fault_nothing_has_to_act_but_calls_must_succeed() -> None:
    quiet = replace(GOOD, injected=0)
    assert compare(HEALTHY, quiet, quiet).verdict == "no difference"
    assert compare(HEALTHY, quiet, replace(quiet, statuses={404: 40})).verdict == "worse"
    wrong = replace(quiet, statuses={404: 40})
    assert "try another --route" in compare(HEALTHY, wrong, wrong).reason
    assert compare(HEALTHY, wrong, wrong).verdict == "not shown"


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        (replace(HUNG, failures={"timeout": 40}), "a route that streams without an end cannot be proved"),
        (figures({401: 39, 403: 1}, 5.0), "a proof sends no token: try another --route"),
        (figures({500: 40}, 5.0), "try another --route or the real --upstream"),
    ],
)
def test_a_service_that_fails_without_a_fault_is_told_what_to_try(failing: Figures, words: str) -> None:
    compared = compare(HEALTHY, failing, failing)
    assert (compared.verdict, words in compared.why) == ("not shown", True), compared.why


def test_the_kind_of_a_call_that_was_given_up_is_that_of_the_load() -> None:
    assert Failure.TIMEOUT.label == "timeout"


@pytest.mark.parametrize(
    ("verdicts", "overall"),
    [
        (["no difference", "better"], "better"),
        (["no difference", "no difference"], "no difference"),
        (["better", "worse", "not shown"], "worse"),
        (["better", "not shown"], "not shown"),
    ],
)
def test_one_fault_that_is_worse_makes_the_change_worse(verdicts: list[Verdict], overall: Verdict) -> None:
    compared = compare("x", GOOD, GOOD)
    assert overall_verdict([replace(compared, verdict=each) for each in verdicts]) == overall


def test_figures_are_described_in_a_sentence() -> None:
    assert HUNG.sentence() == "none of 40 calls had an answer in time, 10.00 s on average, 40 upstream calls"
    assert CRASHED.sentence() == "all answered (40 × 500), 1.10 s on average, 40 upstream calls"
    assert HALF.sentence().startswith("20 of 40 answered (20 × 200), ")


def test_the_mean_of_a_count_is_that_of_one_call() -> None:
    mean = Mean.of_count(40, 40)
    assert mean.value == 1.0
    assert (round(mean.interval.low, 2), round(mean.interval.high, 2)) == (0.59, 1.41)
    assert Mean.of_count(0, 0) == Mean(0.0, Interval(0.0, 0.0))
