"""A load: what is sent and when, its target, its schedule, and the progress of a run. Pure.

The schedule of an open load does not depend on answers. Counted in arrivals instead of seconds it is simple:
number k stands at k (even spacing), or at a sum of k + 1 unit exponentials (Poisson). Its time is where the
cumulative rate reaches that number: a closed form of k, so nothing drifts, and workers that share a schedule
need not communicate.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, cycle, islice, takewhile
from math import ceil, isfinite, log1p, sqrt
from typing import Literal, TypeAlias

from faultkit.base.address import Endpoint, Verify
from faultkit.base.rng import Rng
from faultkit.base.secrets import hide_secrets, mask_url
from faultkit.faults.call_fault import Era

Model: TypeAlias = Literal["open", "closed"]
Spacing: TypeAlias = Literal["even", "poisson"]


MOST_RPS = 1_000_000
_RATE = f"more than 0 and at most {MOST_RPS} requests a second of all clients together"


@dataclass(frozen=True, slots=True)
class Load:
    """A load: how many requests, how they are timed, and over which connections.

    Open: requests start at the times of a schedule, whatever became of those before. Closed: each client
    waits for its answer before it sends again."""

    duration_s: float
    rate_rps: float | None
    """Requests a second of all clients together. Only a closed load may have none: as fast as answers
    come."""
    clients: int = 1
    """Number of clients of a closed load, and of sessions of an MCP load. An open HTTP load does not use
    it."""
    model: Model = "open"
    ramp_s: float = 0.0
    """Seconds during which the rate rises evenly from 0."""
    spacing: Spacing = "even"
    seed: int | str = 0
    """Seed of Poisson arrivals."""
    keep_alive: bool = True
    """True: connections are reused; otherwise each request has a new one."""
    most_in_flight: int = 1000
    """Limit of an open load: an arrival that finds this many under way is dropped, and counted."""

    def __post_init__(self) -> None:
        for name, value, fits, expected in (
            ("duration_s", self.duration_s, self.duration_s > 0, "more than 0 seconds"),
            ("rate_rps", self.rate_rps, self.rate_rps is None or 0 < self.rate_rps <= MOST_RPS, _RATE),
            ("clients", self.clients, self.clients >= 1, "at least 1"),
            ("ramp_s", self.ramp_s, 0 <= self.ramp_s <= self.duration_s, "from 0 to the duration"),
            ("most_in_flight", self.most_in_flight, self.most_in_flight >= 1, "at least 1"),
        ):
            if not fits or (value is not None and not isfinite(value)):
                raise ValueError(f"{name}: expected {expected}, got {value}")
        if self.rate_rps is None and self.model == "open":
            raise ValueError("rate_rps: expected a rate for an open load, got nothing")


@dataclass(frozen=True, slots=True)
class StreamUntil:
    """When an event stream is complete: at the first of these. Without any, it is when the server ends it."""

    events: int | None = None
    """So many events have come."""
    time_s: float | None = None
    """So many seconds since the start of the request."""
    data: str | None = None
    """An event with this data has come."""

    @property
    def is_given(self) -> bool:
        """Whether the client ends the stream."""
        return self != StreamUntil()


@dataclass(frozen=True, slots=True)
class Target:
    """What a load sends, and the way there."""

    method: str
    url: str
    """Absolute; its scheme is http or https."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout_s: float = 30.0
    """For the whole request: resolving, connecting, sending, and the answer to its last byte."""
    proxy: Endpoint | None = None
    """An HTTP proxy: plain requests in absolute form, https through CONNECT."""
    connect_to: Endpoint | None = None
    """Connect here instead of to the URL's host, and in clear text; the request itself stays the same."""
    verify: Verify = True
    """Which certificates of the server are trusted."""
    stream: StreamUntil | None = None
    """The answer is a stream of server-sent events, read until then; None: any answer, read to its end."""
    llm: bool = False
    """It is a request to a model, whose answer is measured token by token."""


@dataclass(frozen=True, slots=True)
class McpTarget:
    """A tool, its arguments, and the way to its server."""

    tool: str
    arguments: str = "{}"
    """A JSON object."""
    http: Target | None = None
    """The endpoint of a server over streamable HTTP; method and body do not matter."""
    command: tuple[str, ...] = ()
    """The program of a server over stdio, and its arguments."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables for the program, besides those of this process."""
    cwd: str | None = None
    era: Era = "legacy"
    """Legacy: sessions that `initialize` opens. Modern: each request has all that it needs."""
    timeout_s: float = 30.0
    """For each call, and for opening a session."""

    def __str__(self) -> str:
        """The URL or the program, without secrets."""
        return mask_url(self.http.url) if self.http else hide_secrets(shlex.join(self.command))


AnyTarget: TypeAlias = Target | McpTarget


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    elapsed_s: float
    """Seconds since the start of the run; negative before it."""
    started: int
    done: int
    """Answered or failed."""
    errors: int
    in_flight: int
    dropped: int
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    """Percentiles of recent response times; 0 while there are none."""


# --- the schedule ----------------------------------------------------------------------------


def instants(load: Load, worker: int = 0, workers: int = 1) -> Iterator[float]:
    """Return when one worker starts requests, in seconds from the start of the run, ascending.

    Number `worker` of `workers` takes arrivals `worker`, `worker` + `workers` and so on: together they take
    each arrival once."""
    if not 0 <= worker < workers:
        raise ValueError(f"worker: expected 0 or more and less than {workers}, got {worker}")
    rate_rps = _open_rate(load)
    mine: Iterator[float] = count(worker, workers)
    if load.spacing == "poisson":
        mine = islice(_poisson_places(load), worker, None, workers)
    times = (_instant(place, rate_rps, load.ramp_s) for place in mine)
    return takewhile(lambda at: at < load.duration_s, times)


def turns(load: Load, worker: int = 0, workers: int = 1) -> Iterator[tuple[float, int]]:
    """Return the schedule of a closed load with a rate: times as in `instants`, and the client of each.

    Clients take turns, and workers share the clients as they share the arrivals of an open load."""
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
    """Return the number of arrivals of the whole schedule."""
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


def planned_requests(load: Load, worker: int = 0, workers: int = 1) -> int | None:
    """Return how many requests the schedule has for one worker; None without a schedule.

    For a closed load with a rate it is the number of ticks, which is the most that it can send."""
    if load.rate_rps is None:
        return None
    ticks = arrival_count(load if load.model == "open" else replace(load, model="open"))
    if load.model == "open":
        return len(range(worker, ticks, workers))
    mine = range(worker, load.clients, workers)
    return sum(len(range(client, ticks, load.clients)) for client in mine)


def _instant(place: float, rate_rps: float, ramp_s: float) -> float:
    """Return when the cumulative rate reaches `place`.

    During the ramp the cumulative rate is rate·t²/(2·ramp), a parabola; after it, a line that lags by half
    the ramp."""
    if place < rate_rps * ramp_s / 2:
        return sqrt(2 * ramp_s * place / rate_rps)
    return place / rate_rps + ramp_s / 2


def _poisson_places(load: Load) -> Iterator[float]:
    """Yield the places of Poisson arrivals.

    Every worker draws all of them and adds them in the same order, so all have the same to the last bit."""
    rng = Rng.keyed(load.seed, "arrivals")
    place = 0.0
    while True:
        place -= log1p(-rng.uniform())
        yield place


def _open_rate(load: Load) -> float:
    if load.model != "open" or load.rate_rps is None:
        raise ValueError(f"model: expected an open load, got a {load.model} one")
    return load.rate_rps
