"""Arrivals: when the requests of an open load are to start, whatever the answers do. Pure.

Counted in arrivals instead of seconds, a schedule is simple: number k stands at k (even spacing), or
at a sum of k + 1 unit exponentials (Poisson). The instant is where the cumulative rate reaches that:
a closed form of k, so nothing drifts, and workers that share a schedule need not talk.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice, takewhile
from math import ceil, log1p, sqrt

from faultkit.load.load import Load
from faultkit.rng import Rng


def instants(load: Load, worker: int = 0, workers: int = 1) -> Iterator[float]:
    """Seconds from the start of the run, ascending, from 0 to before its end. Of `workers`, number
    `worker` takes arrivals `worker`, `worker` + `workers` and so on: together they take each once."""
    if not 0 <= worker < workers:
        raise ValueError(f"worker: expected 0 or more and less than {workers}, got {worker}")
    rate_rps = _open_rate(load)
    places: Iterator[float] = _poisson_places(load) if load.spacing == "poisson" else count(0)
    mine = islice(places, worker, None, workers)
    times = (_instant(place, rate_rps, load.ramp_s) for place in mine)
    return takewhile(lambda at: at < load.duration_s, times)


def arrival_count(load: Load) -> int:
    """How many instants the whole schedule has."""
    if load.spacing == "poisson":
        return sum(1 for _ in instants(load))
    rate_rps = _open_rate(load)
    number = max(0, ceil(rate_rps * (load.duration_s - load.ramp_s / 2)))
    # The product may be off by a rounding error; what counts is which instants are before the end.
    while number > 0 and _instant(number - 1, rate_rps, load.ramp_s) >= load.duration_s:
        number -= 1
    while _instant(number, rate_rps, load.ramp_s) < load.duration_s:
        number += 1
    return number


def _instant(place: float, rate_rps: float, ramp_s: float) -> float:
    """Where the cumulative rate reaches `place`. During the ramp it is rate·t²/(2·ramp), a parabola;
    after it, a line that lags by half the ramp."""
    if place < rate_rps * ramp_s / 2:
        return sqrt(2 * ramp_s * place / rate_rps)
    return place / rate_rps + ramp_s / 2


def _poisson_places(load: Load) -> Iterator[float]:
    """Every worker draws them all and adds them in the same order, hence has the same to the last bit."""
    rng = Rng.keyed(load.seed, "arrivals")
    place = 0.0
    while True:
        place -= log1p(-rng.uniform())
        yield place


def _open_rate(load: Load) -> float:
    if load.model != "open" or load.rate_rps is None:
        raise ValueError(f"model: expected an open load, got a {load.model} one")
    return load.rate_rps
