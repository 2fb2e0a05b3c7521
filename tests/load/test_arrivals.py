from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import sqrt
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.load import Load, Spacing, arrival_count, instants, turns

LOADS = st.builds(
    lambda duration_s, rate_rps, ramp, spacing, seed: Load(
        duration_s, rate_rps, ramp_s=ramp * duration_s, spacing=spacing, seed=seed
    ),
    duration_s=st.floats(0.01, 20),
    rate_rps=st.floats(0.1, 50),
    ramp=st.sampled_from((0.0, 0.25, 1.0)),
    spacing=st.sampled_from(("even", "poisson")),
    seed=st.integers(0, 5),
)


def test_even_arrivals_are_evenly_spaced_from_the_start_to_before_the_end() -> None:
    assert list(instants(Load(2.0, 4.0))) == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]


def test_the_rate_rises_evenly_during_a_ramp() -> None:
    times = list(instants(Load(4.0, 2.0, ramp_s=2.0)))
    assert times == [0.0, sqrt(2.0), 2.0, 2.5, 3.0, 3.5]


def test_a_ramp_over_the_whole_run_gives_half_the_arrivals() -> None:
    assert arrival_count(Load(10.0, 100.0, ramp_s=10.0)) == 500


def test_instants_do_not_drift() -> None:
    *_, last = instants(Load(100_000.0, 0.7))
    assert last == 69_999 / 0.7


@pytest.mark.parametrize(
    ("duration_s", "rate_rps", "count"),
    [(10, 3, 30), (10, 200, 2000), (0.3, 10, 3), (1, 0.5, 1), (2.1, 0.5, 2), (0.7, 10, 7), (1.1, 10, 11)],
)
def test_as_many_as_the_rate_times_the_duration(duration_s: float, rate_rps: float, count: int) -> None:
    assert arrival_count(Load(duration_s, rate_rps)) == count


@given(LOADS)
def test_the_count_is_that_of_the_instants(load: Load) -> None:
    assert arrival_count(load) == len(list(instants(load)))


@given(LOADS)
def test_instants_ascend_within_the_run(load: Load) -> None:
    times = list(instants(load))
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert all(0 <= at < load.duration_s for at in times)


@given(LOADS, st.integers(1, 12))
def test_the_union_over_workers_is_the_whole_schedule(load: Load, workers: int) -> None:
    shares = [list(instants(load, worker, workers)) for worker in range(workers)]
    whole = list(instants(load))
    assert sorted(at for share in shares for at in share) == whole
    assert [share for worker, share in enumerate(shares) if share != whole[worker::workers]] == []


@given(LOADS, st.integers(1, 12))
def test_workers_get_equal_shares(load: Load, workers: int) -> None:
    counts = [len(list(instants(load, worker, workers))) for worker in range(workers)]
    assert max(counts) - min(counts) <= 1


@given(LOADS, st.integers(1, 12), st.integers(1, 12))
def test_clients_take_turns_in_the_schedule_and_workers_share_the_clients(
    load: Load, clients: int, workers: int
) -> None:
    closed = replace(load, model="closed", clients=clients)
    whole = [(at, number % clients) for number, at in enumerate(instants(load))]
    for worker in range(workers):
        mine = [turn for turn in whole if turn[1] % workers == worker]
        assert list(turns(closed, worker, workers)) == mine


def test_clients_without_a_rate_have_no_turns() -> None:
    with pytest.raises(ValueError, match="rate_rps: expected a rate"):
        turns(Load(1.0, None, model="closed"))


def test_poisson_arrivals_replay_from_the_seed() -> None:
    assert list(instants(poisson(seed=7))) == list(instants(poisson(seed=7)))
    assert list(instants(poisson(seed=7))) != list(instants(poisson(seed=8)))


def test_poisson_gaps_are_exponential() -> None:
    times = list(instants(poisson(duration_s=1000.0)))
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert fmean(gaps) == pytest.approx(0.1, rel=0.05)
    assert fmean(gap > 0.1 for gap in gaps) == pytest.approx(0.3679, abs=0.02)


def test_poisson_arrivals_become_denser_during_a_ramp() -> None:
    times = list(instants(poisson(duration_s=1000.0, ramp_s=1000.0)))
    assert len(times) == pytest.approx(5000, rel=0.1)
    assert sum(at < 500 for at in times) / len(times) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(("worker", "workers"), [(1, 1), (-1, 2), (0, 0)])
def test_a_worker_that_does_not_exist_is_refused(worker: int, workers: int) -> None:
    with pytest.raises(ValueError, match="worker: expected 0 or more"):
        instants(Load(1.0, 1.0), worker, workers)


def test_a_closed_load_has_no_arrivals() -> None:
    with pytest.raises(ValueError, match="model: expected an open load, got a closed one"):
        arrival_count(Load(1.0, 1.0, model="closed"))


def poisson(duration_s: float = 10.0, ramp_s: float = 0.0, seed: int = 1) -> Load:
    spacing: Spacing = "poisson"
    return Load(duration_s, 10.0, ramp_s=ramp_s, spacing=spacing, seed=seed)
