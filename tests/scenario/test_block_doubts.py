"""Which blocks of a search are measured again: those whose requests could have been good or bad otherwise."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from faultkit.load.load import Load
from faultkit.load.samples import Sample, Samples
from faultkit.load.search.search_values import Goal
from faultkit.load.tally import Tally
from faultkit.proxy.data_plane import Lateness
from faultkit.scenario.block_doubts import MeasuredBlock, why_in_doubt
from faultkit.scenario.search_goals import late_ms, times_ms

GOALS = (Goal(0.95, 300.0),)
LOAD = Load(0.995, 100.0)


def block(took_ms: float, late_by_ms: float = 0.0, sent: int = 100) -> MeasuredBlock:
    tally = Tally()
    tally.add(
        Samples.of(
            Sample(n / 100, (n + late_by_ms / 10) / 100, took_ms / 1000, status=200) for n in range(sent)
        )
    )
    times, late = times_ms(tally.samples), late_ms(tally.samples)
    return MeasuredBlock(tally, LOAD, 1.0, times, late, Lateness(), None, 30_000.0)


def released_late(ms: float) -> Lateness:
    lateness = Lateness()
    for _ in range(100):
        lateness.record(ms / 1000)
    return lateness


def test_a_block_that_was_sent_in_time_counts() -> None:
    assert why_in_doubt(block(290.0), GOALS) is None
    assert why_in_doubt(block(310.0), GOALS) is None


def test_late_starts_matter_only_if_a_request_would_have_been_good_without_them() -> None:
    assert why_in_doubt(block(100.0, late_by_ms=50.0), GOALS) is None
    assert why_in_doubt(block(310.0, late_by_ms=50.0), GOALS) is None
    doubt = why_in_doubt(block(280.0, late_by_ms=50.0), GOALS)
    assert doubt is not None
    assert "started more than 10 ms late" in doubt
    # There is no time that an objective of errors could miss.
    assert why_in_doubt(block(280.0, late_by_ms=50.0), (Goal(0.95),)) is None


def test_late_releases_count_twice_for_request_and_answer() -> None:
    assert why_in_doubt(replace(block(310.0), lateness=released_late(3.0)), GOALS) is None
    doubt = why_in_doubt(replace(block(310.0), lateness=released_late(8.0)), GOALS)
    assert doubt is not None
    assert "releases of the proxy" in doubt


def test_dropped_arrivals_do_not_matter_where_the_objective_is_missed_anyhow() -> None:
    fast, slow = block(10.0, sent=90), block(900.0, sent=90)
    fast.tally.dropped = slow.tally.dropped = 10
    doubt = why_in_doubt(fast, GOALS)
    assert doubt is not None
    assert "10 of 100 arrivals" in doubt
    assert why_in_doubt(slow, GOALS) is None
    slow.tally.starved = 10
    assert why_in_doubt(slow, GOALS) is not None


def test_a_lost_worker_a_shortage_and_an_empty_block_are_doubts() -> None:
    assert why_in_doubt(replace(block(10.0), lost=1), GOALS) == "A worker was lost."
    assert "no descriptor left" in (why_in_doubt(replace(block(10.0), shortages=1), GOALS) or "")
    assert why_in_doubt(block(10.0, sent=0), GOALS) == "No request was sent."


def test_failed_requests_stay_bad_whatever_the_lateness() -> None:
    late = replace(block(10.0, late_by_ms=50.0), times_ms=[inf] * 100)
    assert why_in_doubt(late, GOALS) is None
