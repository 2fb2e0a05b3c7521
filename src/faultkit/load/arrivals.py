"""Arrivals: when the requests of an open load are to start, whatever the answers do. Pure.

Counted in arrivals instead of seconds, a schedule is simple: number k stands at k (even spacing), or
at a sum of k + 1 unit exponentials (Poisson). The instant is where the cumulative rate reaches that:
a closed form of k, so nothing drifts, and workers that share a schedule need not talk.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, cycle, islice, takewhile
from math import ceil, log1p, sqrt

from faultkit.base.rng import Rng
from faultkit.load.load import Load


def instants(load: Load, worker: int = 0, workers: int = 1) -> Iterator[float]:
    """Seconds from the start of the run, ascending, from 0 to before its end. Of `workers`, number
    `worker` takes arrivals `worker`, `worker` + `workers` and so on: together they take each once."""
    if not 0 <= worker < workers:
        raise ValueError(f"worker: expected 0 or more and less than {workers}, got {worker}")
    rate_rps = _open_rate(load)
    mine: Iterator[float] = count(worker, workers)
    if load.spacing == "poisson":
        mine = islice(_poisson_places(load), worker, None, workers)
    times = (_instant(place, rate_rps, load.ramp_s) for place in mine)
    return takewhile(lambda at: at < load.duration_s, times)


def turns(load: Load, worker: int = 0, workers: int = 1) -> Iterator[tuple[float, int]]:
    """The schedule of a paced closed load: instants as above, and whose turn it is. Clients take turns in
    it, and workers share the clients as arrivals are shared above."""
    if load.rate_rps is None:
        raise ValueError("rate_rps: expected a rate, got nothing")
    if worker >= load.clients:
        return iter(())
    rate_rps = load.rate_rps
    places_of = _poisson_turns if load.spacing == "poisson" else _even_turns
    times = (
        (_instant(place, rate_rps, load.ramp_s), client) for place, client in places_of(load, worker, workers)
    )
    return takewhile(lambda turn: turn[0] < load.duration_s, times)


def _even_turns(load: Load, worker: int, workers: int) -> Iterator[tuple[float, int]]:
    mine = range(worker, load.clients, workers)
    return ((first + client, client) for first in count(0, load.clients) for client in mine)


def _poisson_turns(load: Load, worker: int, workers: int) -> Iterator[tuple[float, int]]:
    turn = zip(_poisson_places(load), cycle(range(load.clients)), strict=False)
    return ((place, client) for place, client in turn if client % workers == worker)


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
