from __future__ import annotations

import pytest

from faultkit.load.load import Load, instants
from faultkit.load.samples import window_count
from tests.load.rows import row, tally_of

CLOCKS = (0.0, 123_456.789012, 9_876_543.21)


@pytest.mark.parametrize("begin_at", CLOCKS)
@pytest.mark.parametrize(("rate_rps", "width_s", "each"), [(10, 0.1, 1), (100, 0.1, 10), (100, 0.2, 20)])
def test_even_arrivals_fill_even_stretches_evenly(
    begin_at: float, rate_rps: float, width_s: float, each: int
) -> None:
    # As an engine has them: instants of its clock, from which the start of the run is taken away.
    rows = [row((begin_at + at) - begin_at) for at in instants(Load(20 * width_s, rate_rps))]
    windows = tally_of(*rows).windows(width_s, 20)
    assert [len(stretch.response) for stretch in windows] == [each] * 20


@pytest.mark.parametrize("begin_at", CLOCKS)
def test_even_arrivals_fill_even_slots_evenly(begin_at: float) -> None:
    rows = [row((begin_at + at) - begin_at) for at in instants(Load(30.0, 7.0))]
    windows = tally_of(*rows, limit=0).windows(1.0, 30)
    assert [len(stretch.response) for stretch in windows] == [7] * 30


def test_a_hair_before_the_last_slot_s_end_makes_slots_wider() -> None:
    folded = tally_of(row(720 - 1e-9), limit=0).histograms
    assert folded is not None
    assert (folded.slot_s, list(folded.slots)) == (2, [360])


@pytest.mark.parametrize(
    ("run_s", "window_s", "count"), [(0.35, 0.1, 4), (0.34, 0.1, 3), (10, 3, 3), (1, 5, 1), (1.05, 0.3, 4)]
)
def test_a_last_window_shorter_than_half_joins_the_one_before(
    run_s: float, window_s: float, count: int
) -> None:
    assert window_count(run_s, window_s) == count
