from __future__ import annotations

import pickle
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.summary import Distribution, Summary
from faultkit.load.tally import Tally
from tests.load.rows import row, tally_of

ROWS = st.lists(
    st.builds(
        row,
        intended=st.floats(0, 30),
        took_s=st.floats(0.001, 5),
        failure=st.sampled_from((Failure.NONE, Failure.NONE, Failure.TIMEOUT, Failure.STATUS)),
        late_s=st.floats(0, 0.02),
        connect_s=st.just(nan) | st.floats(0, 1),
    ),
    max_size=30,
)
LOAD = Load(30.0, 1.0)


@given(ROWS, ROWS, ROWS, st.sampled_from((0, 10, 1000)))
def test_the_summary_depends_neither_on_chunks_nor_on_the_order_of_merging(
    one: list[Sample], two: list[Sample], three: list[Sample], limit: int
) -> None:
    whole = tally_of(*one, *two, *three, limit=limit)
    left = tally_of(*three, limit=limit)
    left.merge(tally_of(*one, limit=limit))
    left.merge(tally_of(*two, limit=limit))
    right = tally_of(*two, limit=limit)
    right.add(Samples.of(three))
    outer = tally_of(*one, limit=limit)
    outer.merge(right)
    summary = whole.summary(LOAD, total_s=31)
    assert left.summary(LOAD, total_s=31) == summary
    assert outer.summary(LOAD, total_s=31) == summary
    assert left.exact == outer.exact == whole.exact == summary.exact


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=40), st.integers(0, 40))
def test_a_long_run_folds_to_the_same_slots_in_any_order(starts: list[float], cut: int) -> None:
    rows = [row(start) for start in starts]
    first, second = tally_of(*rows[:cut], limit=0), tally_of(*rows[cut:], limit=0)
    backwards = tally_of(*rows[cut:], limit=0)
    first.merge(second)
    backwards.merge(tally_of(*rows[:cut], limit=0))
    assert first.histograms == backwards.histograms == tally_of(*rows, limit=0).histograms
    assert first.histograms is not None
    assert max(first.histograms.slots) < 720


@given(ROWS.filter(bool))
def test_a_folded_run_differs_from_an_exact_one_in_the_fourth_digit_only(rows: list[Sample]) -> None:
    exact = tally_of(*rows).summary(LOAD, total_s=31)
    folded = tally_of(*rows, limit=0).summary(LOAD, total_s=31)
    assert (exact.exact, folded.exact) == (True, False)
    for field in ("requests", "errors", "failures", "statuses", "achieved_rps", "received_bytes"):
        assert getattr(exact, field) == getattr(folded, field)
    assert exact.starts.late == folded.starts.late
    for got, expected in zip(figures(folded), figures(exact), strict=True):
        assert got == pytest.approx(expected, rel=1 / 1000, abs=0.002)


def figures(summary: Summary) -> list[float]:
    numbers = [summary.starts.p50_ms, summary.starts.p99_ms, summary.starts.max_ms]
    for part in summary.parts:
        numbers += [part.count, part.mean_ms, part.p50_ms, part.p95_ms, part.max_ms]
    for each in summary.timeline:
        numbers += [
            each.start_s,
            each.width_s,
            each.requests,
            each.errors,
            each.p50_ms,
            each.p95_ms,
            each.max_ms,
        ]
    return numbers + shape(summary.response) + shape(summary.service)


def shape(distribution: Distribution) -> list[float]:
    numbers = [distribution.count, distribution.min_ms, distribution.max_ms, distribution.mean_ms]
    # Intervals are of another cut: whole seconds.
    for each in distribution.percentiles:
        numbers += [each.ms, each.count]
    return [*numbers, *(ms for _, ms in distribution.curve)]


def test_each_request_is_kept_up_to_the_limit_and_none_beyond() -> None:
    tally = tally_of(row(0.0), row(1.0), limit=2)
    assert (tally.exact, tally.requests, len(tally.samples), tally.grain_s) == (True, 2, 2, 0.0)
    tally.add(Samples.of([row(2.0)]))
    assert (tally.exact, tally.requests, len(tally.samples), tally.grain_s) == (False, 3, 0, 1.0)


def test_whoever_waits_for_a_long_folding_is_heard_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.load.tally._PIECE", 2)
    rows = [row(float(second)) for second in range(6)]
    tally = tally_of(*rows[:5], limit=5)
    heard: list[int] = []
    tally.add(Samples.of(rows[5:]), lambda: heard.append(tally.requests))
    assert heard == [2, 4, 5]
    assert tally.histograms == tally_of(*rows, limit=0).histograms


def test_merging_counts_what_was_dropped_and_leaves_the_other_as_it_is() -> None:
    one, two = tally_of(row(), limit=1), tally_of(row(), limit=1)
    one.dropped, two.dropped = 2, 3
    one.merge(two)
    assert (one.dropped, one.requests, one.exact) == (5, 2, False)
    assert (two.dropped, two.requests, two.exact) == (3, 1, True)
    assert one.summary(None, total_s=1).starts.dropped == 5


def test_a_chunk_may_be_used_again_once_it_was_added() -> None:
    chunk = Samples.of([row()])
    tally = Tally()
    tally.add(chunk)
    chunk.append(row())
    assert tally.requests == 1


@pytest.mark.parametrize("limit", [0, 10])
def test_it_survives_the_way_between_processes(limit: int) -> None:
    tally = tally_of(row(0.5), row(2.5, failure=Failure.RESET), limit=limit)
    copy = pickle.loads(pickle.dumps(tally))
    assert copy.exact == tally.exact
    assert copy.summary(LOAD, total_s=31) == tally.summary(LOAD, total_s=31)


@pytest.mark.parametrize("limit", [0, 10])
def test_every_request_is_in_one_stretch_and_the_last_takes_what_follows(limit: int) -> None:
    rows = (row(0.0), row(1.9, failure=Failure.TIMEOUT), row(2.0), row(5.0), row(9.0))
    windows = tally_of(*rows, limit=limit).windows(2.0, 3)
    assert [(each.start_s, len(each.response), each.errors) for each in windows] == [
        (0.0, 2, 1),
        (2.0, 1, 0),
        (4.0, 2, 0),
    ]
