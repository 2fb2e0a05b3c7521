"""Response times of one queue hang together: what that does to intervals, and that it is made up for."""

from __future__ import annotations

from array import array
from math import nan

import numpy as np
import pytest

from faultkit.load.dependence import BATCHES, effective_for_errors
from faultkit.load.failure import Failure
from faultkit.load.impact import impact
from faultkit.load.samples import Samples
from faultkit.load.stretch import batches
from faultkit.load.summary import Summary
from faultkit.load.tally import Tally
from tests.load.rows import row

RATE_RPS, RUN_S = 100, 20
PAIRS = 40


def queue(rng: np.random.Generator, utilisation: float) -> list[float]:
    """Response times of one server with a queue before it, at even arrivals (Lindley's recursion)."""
    service = rng.exponential(utilisation / RATE_RPS, RATE_RPS * RUN_S)
    drift = np.concatenate(([0.0], np.cumsum(service - 1 / RATE_RPS)[:-1]))
    waits = drift - np.minimum.accumulate(drift)
    return [float(each) for each in waits + service]


def summary_of(times_s: list[float], *, spread: bool = True, limit: int = 1_000_000) -> Summary:
    """Not `spread`: all at one instant, so that they are taken as independent of each other."""
    count = len(times_s)
    starts = array("d", [number / RATE_RPS if spread else 0.0 for number in range(count)])
    nothing = array("d", [nan]) * count
    tally = Tally(limit=limit)
    tally.add(
        Samples(
            starts,
            starts,
            array("d", times_s),
            *(nothing,) * 4,
            array("H", [200]) * count,
            array("B", [0]) * count,
            array("Q", [100]) * count,
        )
    )
    return tally.summary(None, total_s=RUN_S)


def false_claims(utilisation: float, *, spread: bool, limit: int = 1_000_000) -> dict[str, float]:
    """Of pairs of runs that do not differ but by chance: how often a difference is claimed."""
    rng = np.random.default_rng(11)
    claims = dict.fromkeys(("mean", "p50", "p95", "p99"), 0)
    for _ in range(PAIRS):
        one, two = (summary_of(queue(rng, utilisation), spread=spread, limit=limit) for _ in range(2))
        for each in impact(one, two):
            if each.name in claims:
                claims[each.name] += each.shown
    return {name: count / PAIRS for name, count in claims.items()}


@pytest.mark.parametrize("limit", [0, 1_000_000])
def test_runs_of_the_same_queue_are_seldom_said_to_differ(limit: int) -> None:
    # 5 % are allowed; of 40 pairs, more than 15 % come in one of 300 such experiments.
    for name, share in false_claims(0.7, spread=True, limit=limit).items():
        assert share <= 0.15, name


def test_as_if_they_were_independent_they_would_often_be_said_to_differ() -> None:
    claims = false_claims(0.7, spread=False)
    for name in ("mean", "p95", "p99"):
        assert claims[name] > 0.3, name


def test_a_real_difference_is_still_shown() -> None:
    rng = np.random.default_rng(12)
    slow = [each + 0.1 for each in queue(rng, 0.5)]
    shown = {each.name: each.shown for each in impact(summary_of(queue(rng, 0.5)), summary_of(slow))}
    assert shown == {"mean": True, "p50": True, "p95": True, "p99": True, "errors": False}


def test_independent_requests_keep_nearly_all_their_worth() -> None:
    rng = np.random.default_rng(13)
    summary = summary_of([float(each) for each in rng.exponential(0.01, 2000)])
    # (1.96 / 2.09)² of it, and chance: the variance of twenty means is itself not known well.
    for effective in (summary.response.effective, *(each.effective for each in summary.response.percentiles)):
        assert 800 < effective < 1755


def test_times_that_come_in_runs_are_worth_little_more_than_there_are_runs() -> None:
    slow_in_turns = [0.1 if number // 100 % 2 else 0.2 for number in range(2000)]
    assert summary_of(slow_in_turns).response.effective == pytest.approx(
        19 * (1.959964 / 2.093024) ** 2, rel=1e-3
    )


def test_errors_in_one_burst_are_worth_less_than_the_same_number_all_over() -> None:
    def effective(failed: set[int]) -> float:
        rows = [
            row(number / 100, failure=Failure.RESET if number in failed else Failure.NONE)
            for number in range(2000)
        ]
        return effective_for_errors(batches(Samples.of(rows), BATCHES))

    assert effective(set(range(0, 2000, 20))) == pytest.approx(2000 * (1.959964 / 2.093024) ** 2)
    assert effective(set(range(100))) < 25


def test_batches_have_as_many_requests_each_wherever_they_are() -> None:
    rows = [row(number**2 / 1000) for number in range(100)]
    assert [len(each.response) for each in batches(Samples.of(rows), 20)] == [5] * 20
    assert [len(each.response) for each in batches(Samples.of(rows[:3]), 20)] == [1, 1, 1]
    assert batches(Samples(), 20) == []


def test_what_starts_together_stays_together() -> None:
    rows = [row(1.0)] * 50 + [row(2.0)] * 50
    assert [(each.start_s, len(each.response)) for each in batches(Samples.of(rows), 20)] == [
        (1.0, 50),
        (2.0, 50),
    ]
