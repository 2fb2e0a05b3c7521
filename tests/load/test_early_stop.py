"""A load that ends early must not change its verdict."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from math import nan
from random import Random
from typing import TypeAlias

import pytest

from faultkit.load.early_stop import EarlyStop, are_decided, can_be_decided_early, good_share
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import Slo, judge, parse_slo
from faultkit.load.tally import Tally

Draw: TypeAlias = Callable[[Random], tuple[float, int]]
"""Draws the time of a request and its failure."""

RATE = 50
PLANNED = 3000
LATENCY = parse_slo("latency:95:300ms")
ERRORS = parse_slo("error:99:1%")
AVAILABLE = parse_slo("availability:99:300ms")


def _sample(number: int, time_s: float, failure: int = Failure.NONE) -> Sample:
    at = number / RATE
    return Sample(at, at, time_s, nan, nan, nan, nan, 0 if failure else 200, failure, 1)


def _tally(times: list[float]) -> Tally:
    tally = Tally()
    tally.add(Samples.of(_sample(number, time) for number, time in enumerate(times)))
    return tally


def _needed(slo: Slo, samples: list[Sample]) -> int:
    """Return after how many requests a load ends that is looked at once a second."""
    stop, tally = EarlyStop((slo,), len(samples), threading.Event()), Tally()
    for start in range(0, len(samples), RATE):
        tally.add(Samples.of(samples[start : start + RATE]))
        stop.look(tally, 0)
        if stop.is_set():
            return tally.requests
    return len(samples)


def _gauss(mean_ms: float) -> Draw:
    return lambda random: (random.gauss(mean_ms, 30) / 1000, Failure.NONE)


def _failing(share: float) -> Draw:
    return lambda random: (0.01, Failure.RESET if random.random() < share else Failure.NONE)


def _services() -> Iterator[tuple[str, Slo, Draw]]:
    """Yield services from far above to far below their objective."""
    for mean_ms in (50, 100, 150, 200, 230, 240, 250, 260, 300, 400):
        yield f"latency {mean_ms}", LATENCY, _gauss(mean_ms)
    for share in (0, 0.001, 0.005, 0.02, 0.05, 0.3, 1):
        yield f"error {share:g}", ERRORS, _failing(share)
        yield f"availability {share:g}", AVAILABLE, _failing(share)


CASES = [(name, slo, draw, seed) for name, slo, draw in _services() for seed in (1, 2)] + [
    ("latency 251", LATENCY, _gauss(251), seed) for seed in (3, 4)
]


def _run(draw: Draw, seed: int) -> list[Sample]:
    random = Random(seed)
    return [_sample(number, *draw(random)) for number in range(PLANNED)]


@pytest.mark.parametrize(
    ("name", "slo", "draw", "seed"), CASES, ids=[f"{case[0]} {case[3]}" for case in CASES]
)
def test_a_load_that_ends_early_has_the_verdict_of_the_whole_load(
    name: str, slo: Slo, draw: Draw, seed: int
) -> None:
    samples = _run(draw, seed)
    needed = _needed(slo, samples)
    early, full = Tally(), Tally()
    early.add(Samples.of(samples[:needed]))
    full.add(Samples.of(samples))
    assert judge(slo, early, needed / RATE).passed is judge(slo, full, PLANNED / RATE).passed
    is_clear = name.split()[-1] in {"50", "100", "150", "200", "300", "400", "0.3", "1"}
    if is_clear:
        assert needed <= PLANNED / 3


def test_there_are_fifty_cases() -> None:
    assert len(CASES) == 50


def test_requests_under_way_may_decide_either_way() -> None:
    tally = _tally([0.1] * 600)
    assert are_decided((LATENCY,), tally, in_flight=0, planned=None)
    assert not are_decided((LATENCY,), tally, in_flight=60, planned=None)
    slow = _tally([0.1, 0.5] * 50)
    assert are_decided((LATENCY,), slow, in_flight=0, planned=None)
    assert not are_decided((LATENCY,), slow, in_flight=900, planned=None)


def test_more_bad_requests_than_all_may_be_decide_at_once() -> None:
    tally = _tally([0.1, 0.1, 0.1, 0.5] * 50)
    assert are_decided((LATENCY,), tally, in_flight=1000, planned=500)


def test_every_objective_must_be_decided() -> None:
    tally = _tally([0.1] * 300)
    assert are_decided((LATENCY,), tally, in_flight=0, planned=None)
    assert not are_decided((LATENCY, parse_slo("availability:99.9")), tally, in_flight=0, planned=None)


def test_nothing_is_decided_without_requests() -> None:
    assert not are_decided((LATENCY,), Tally(), in_flight=0, planned=10)


def test_slow_stretches_that_were_seen_delay_the_decision() -> None:
    stretches = [0.05 if number // 40 % 2 else 0.2 for number in range(400)]
    assert not are_decided((LATENCY,), _tally(stretches), in_flight=0, planned=None)


def test_the_stop_of_the_user_counts_too() -> None:
    event = threading.Event()
    stop = EarlyStop((LATENCY,), 10, event)
    assert not stop.is_set()
    event.set()
    assert stop.is_set()
    assert not stop.is_decided


@pytest.mark.parametrize(
    ("text", "can", "share"),
    [
        ("latency:95:300ms", True, 0.95),
        ("error:95:1%", True, 0.99),
        ("error:99.5:2%", True, 0.995),
        ("availability:99.9", True, 0.999),
        ("latency:95:300ms@5s", False, 0.95),
        ("gap:95:300ms", False, 0.95),
    ],
)
def test_objectives_about_shares_of_all_requests_can_be_decided_early(
    text: str, can: bool, share: float
) -> None:
    slo = parse_slo(text)
    assert can_be_decided_early(slo) is can
    assert good_share(slo) == pytest.approx(share)
