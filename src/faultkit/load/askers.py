"""Who asks, and when: the two models of load. They know the clock and the engine, not the network.

Open: a pump follows the schedule, whatever became of the requests before. Closed: so many clients,
each of which waits until its request is over before it asks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from faultkit.load.arrivals import instants
from faultkit.load.engine import Engine
from faultkit.load.load import Load


def start_asking(engine: Engine, load: Load, begin_at: float, worker: int = 0, workers: int = 1) -> None:
    """Set one worker's part of a load going. Clients take turns in the one schedule of a paced load."""
    end_at = begin_at + load.duration_s
    if load.model == "open":
        share = load.most_in_flight // workers + (worker < load.most_in_flight % workers)
        Pump(engine, _absolute(load, begin_at, worker, workers), share)
        return
    for number in range(worker, load.clients, workers):
        if load.rate_rps is None:
            EagerClient(engine, begin_at + load.ramp_s * number / load.clients, end_at)
        else:
            ticks = _absolute(replace(load, model="open"), begin_at, number, load.clients)
            PacedClient(engine, ticks, end_at)


def _absolute(load: Load, begin_at: float, worker: int, workers: int) -> Iterator[float]:
    return (begin_at + instant for instant in instants(load, worker, workers))


class Pump:
    """Absolute times: to be late once makes nothing else late."""

    __slots__ = ("_due", "_engine", "_most_in_flight")

    def __init__(self, engine: Engine, due: Iterator[float], most_in_flight: int) -> None:
        self._engine = engine
        self._due = due
        self._most_in_flight = most_in_flight
        self._wait_for(next(due, inf))

    def over(self, now: float) -> None:
        """What becomes of a request changes nothing here."""

    def abort(self) -> None:
        self._engine.broken()

    def _wait_for(self, due: float) -> None:
        if due < inf:
            self._engine.loop.call_at(due, self._start_due)

    def _start_due(self, due: float) -> None:
        engine = self._engine
        # What comes due meanwhile waits until the loop has looked at answers.
        now = engine.loop.clock()
        while due <= now:
            if len(engine.pending) < self._most_in_flight:
                engine.ask(self, due)
            else:
                engine.dropped += 1
            due = next(self._due, inf)
        self._wait_for(due)


class EagerClient:
    """Asks again at once."""

    __slots__ = ("_end_at", "_engine")

    def __init__(self, engine: Engine, first_at: float, end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        engine.loop.call_at(first_at, self.over)

    def over(self, now: float) -> None:
        if now < self._end_at:
            self._engine.ask(self, None)

    def abort(self) -> None:
        self._engine.broken()


class PacedClient:
    """Asks when its last request is over and its own tick has come. Ticks that it missed are gone."""

    __slots__ = ("_end_at", "_engine", "_tick", "_ticks")

    def __init__(self, engine: Engine, ticks: Iterator[float], end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        self._ticks = ticks
        self._tick = next(ticks, inf)
        self.over(-inf)

    def over(self, now: float) -> None:
        if now < self._tick < inf:
            self._engine.loop.call_at(self._tick, self.over)
        elif now < self._end_at and self._tick < inf:
            while self._tick <= now:
                self._tick = next(self._ticks, inf)
            self._engine.ask(self, None)

    def abort(self) -> None:
        self._engine.broken()
