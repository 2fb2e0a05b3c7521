"""The sequential test of a share: valid at all times, and corrected for dependent requests."""

from __future__ import annotations

from random import Random

import pytest

from faultkit.load.search.share_evidence import (
    Counts,
    decide,
    dependence,
    effective_counts,
    evidence_broken,
    evidence_held,
    fewest_requests,
    share_bounds,
)

ERROR = 0.01


@pytest.mark.parametrize(
    ("good", "bad", "decision"),
    [
        (0, 0, "undecided"),
        (1900, 100, "undecided"),
        (1960, 40, "held"),
        (1860, 140, "broken"),
        (200, 0, "held"),
        (0, 5, "broken"),
        (50, 0, "undecided"),
    ],
)
def test_a_share_is_decided_when_the_other_side_is_refuted(good: int, bad: int, decision: str) -> None:
    assert decide(Counts(good, bad), 0.95, ERROR) == decision


def test_without_requests_there_is_no_evidence_for_either_side() -> None:
    assert evidence_held(Counts(0, 0), 0.95) == pytest.approx(0)
    assert evidence_broken(Counts(0, 0), 0.95) == pytest.approx(0)


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_evidence_stays_finite_for_millions_of_requests(share: float) -> None:
    assert evidence_held(Counts(1e6, 0), share) > 1000
    assert evidence_broken(Counts(0, 1e6), share) > 1000
    assert decide(Counts(1e6 * share + 20_000, 1e6 * (1 - share) - 2_000), share, ERROR) == "held"


def test_looking_again_and_again_is_seldom_wrong_at_the_boundary() -> None:
    """Repeated looks at a plain 95 % interval would be wrong in far more than a third of these runs."""
    decided = 0
    for seed in range(120):
        random, good = Random(seed), 0
        for number in range(1, 1001):
            good += random.random() < 0.9
            if number % 25 == 0 and decide(Counts(good, number - good), 0.9, 0.05) != "undecided":
                decided += 1
                break
    assert decided <= 120 * 2 * 0.05


def test_bounds_hold_the_share_and_narrow_with_requests() -> None:
    few, many = (share_bounds(Counts(95 * size, 5 * size), 0.95, 0.05) for size in (1, 100))
    assert few.low < many.low < 0.95 < many.high < few.high
    assert share_bounds(Counts(0, 0), 0.95, 0.05) == (0, 1)
    assert share_bounds(Counts(100, 0), 0.95, 0.05).high == 1
    assert share_bounds(Counts(0, 100), 0.95, 0.05).low == 0


def test_the_fewest_requests_are_those_that_decide_when_all_are_good() -> None:
    fewest = fewest_requests(0.95, ERROR)
    assert decide(effective_counts([True] * fewest, ERROR), 0.95, ERROR) == "held"
    assert decide(effective_counts([True] * (fewest - 1), ERROR), 0.95, ERROR) == "undecided"


def test_independent_requests_count_almost_fully_and_alike_ones_less() -> None:
    random = Random(1)
    independent = [random.random() < 0.9 for _ in range(2000)]
    stretched = [flag for flag in independent[:100] for _ in range(20)]
    assert effective_counts(independent, ERROR).total > 2000 / 2.5
    assert effective_counts(stretched, ERROR).total < 2000 / 10


def test_too_few_requests_for_sections_count_nothing() -> None:
    assert effective_counts([True] * 9, ERROR) == (0, 0)


def test_dependence_is_seen_in_times_that_are_all_good() -> None:
    random = Random(2)
    independent = [random.gauss(100, 10) for _ in range(4000)]
    stretched = [random.gauss(100 if number // 50 % 2 else 130, 10) for number in range(4000)]
    assert dependence(independent) < 3
    assert dependence(stretched) > 10


def test_equal_times_do_not_depend_on_each_other() -> None:
    assert dependence([float("inf")] * 500) == 1
    assert dependence([]) == 1


def test_times_that_differ_by_far_less_than_from_the_limit_are_alike() -> None:
    """A machine that is a little busier for a while makes no request bad, so it must not cost requests."""
    drifting = [20.0 + 8 * (number // 50 % 2) + number % 3 for number in range(1000)]
    assert dependence(drifting) > 10
    assert dependence(drifting, 300.0) == 1
    assert dependence(drifting, 28.0) > 10
    # With no limit of time, only failures in a row count.
    assert dependence(drifting, float("inf")) == 1
    failing = [float("inf") if number // 50 % 2 else 20.0 + number % 7 for number in range(1000)]
    assert dependence(failing, float("inf")) > 10
