"""Comparisons of two versions of a service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.code.proof.prove import Figures, Judgement, compare, overall_judgement

GOOD = Figures(10, 10, {200: 10}, {}, 5.0, 8.0, 9.0, (), 10, 10)
HUNG = replace(GOOD, answered=0, statuses={}, failures={"timeout": 10}, max_ms=10_000.0)
CRASHED = replace(GOOD, statuses={500: 10}, max_ms=5_000.0)
HANDLED = replace(GOOD, statuses={504: 10}, max_ms=5_000.0)
SLOW = replace(GOOD, max_ms=2_000.0)
HALF = replace(GOOD, answered=5, statuses={200: 5}, failures={"timeout": 5}, max_ms=10_000.0)


@pytest.mark.parametrize(
    ("before", "after", "judgement", "words"),
    [
        (HUNG, HANDLED, "improved", "left without an answer: 10 of 10, now 0"),
        (HANDLED, HUNG, "worse", "left without an answer: 0 of 10, now 10 of 10"),
        (CRASHED, HANDLED, "improved", "unhandled error (500): 10 of 10, now 0"),
        (HANDLED, CRASHED, "worse", "unhandled error (500): 0 of 10, now 10 of 10"),
        (SLOW, replace(HANDLED, max_ms=1_000.0), "worse", "failing: 0 of 10, now 10 of 10"),
        (replace(HANDLED, max_ms=1_000.0), SLOW, "improved", "failing: 10 of 10, now 0"),
        (HALF, HANDLED, "inconclusive", "More calls get an answer, fewer calls succeed"),
        (HANDLED, HALF, "inconclusive", "Fewer calls get an answer, more calls succeed"),
        (SLOW, GOOD, "improved", "comes clearly sooner"),
        (GOOD, SLOW, "worse", "comes clearly later"),
        (SLOW, replace(SLOW, max_ms=1_900.0), "same", "Both do as well"),
        (replace(CRASHED, injected=0), GOOD, "not exercised", "never acted"),
        (HUNG, replace(GOOD, doubt="the load was late"), "inconclusive", "the load was late"),
        (replace(GOOD, requests=0), GOOD, "inconclusive", "without requests"),
    ],
)
def test_versions_are_judged_by_answers_then_crashes_then_time(
    before: Figures, after: Figures, judgement: Judgement, words: str
) -> None:
    compared = compare("blackhole", before, after, healthy=False)
    assert compared.judgement == judgement
    assert words in compared.reason


def test_without_a_fault_nothing_has_to_act_and_speed_does_not_count() -> None:
    quiet = replace(GOOD, injected=0)
    assert compare("healthy", replace(quiet, max_ms=500.0), quiet, healthy=True).judgement == "same"
    for status in (404, 500, 502):
        broken = replace(quiet, statuses={status: 10})
        assert compare("healthy", quiet, broken, healthy=True).judgement == "worse"


def test_a_service_that_fails_without_a_fault_proves_nothing() -> None:
    wrong = replace(GOOD, statuses={404: 10}, injected=0)
    compared = compare("healthy", wrong, wrong, healthy=True)
    assert compared.judgement == "inconclusive"
    assert "try another --route" in compared.reason


@pytest.mark.parametrize(
    ("judgements", "overall"),
    [
        (["same", "improved"], "improved"),
        (["same", "same"], "same"),
        (["improved", "worse"], "worse"),
        (["improved", "not exercised"], "not exercised"),
        (["improved", "inconclusive"], "inconclusive"),
    ],
)
def test_the_overall_judgement_is_improved_only_if_no_fault_is_worse(
    judgements: list[Judgement], overall: Judgement
) -> None:
    compared = compare("x", GOOD, GOOD, healthy=False)
    assert overall_judgement(tuple(replace(compared, judgement=each) for each in judgements)) == overall


def test_figures_are_described_in_a_sentence() -> None:
    assert HUNG.sentence() == "none of 10 calls had an answer in time"
    assert CRASHED.sentence() == "all answered (10 × 500), the slowest after 5.0 s"
    part = replace(GOOD, answered=7, statuses={200: 7})
    assert part.sentence() == "7 of 10 answered (7 × 200), the slowest after 0.0 s"
