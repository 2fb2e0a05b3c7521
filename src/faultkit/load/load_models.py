"""When requests are sent: the models of load. They know the clock and the engine, not the network.

    OpenLoad        requests start at the times of a schedule, whatever became of those before
    ClosedClient    one client without a rate: the next request starts when the last is over
    PacedClients    clients that share a rate: each starts at its tick, or when its last request is over

A model calls `Engine.ask`, and the engine calls `over` on it when the request is answered or has failed.
Schedules are absolute times, so being late once does not delay what follows. The difference between the
intended and the real start of a request is measured, never hidden (no coordinated omission).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from faultkit.load.engine_base import LoadEngine
from faultkit.load.load import Load, instants, turns


def start_load(
    engine: LoadEngine[Any], load: Load, begin_at: float, worker: int = 0, workers: int = 1
) -> None:
    """Start one worker's part of a load."""
    end_at = begin_at + load.duration_s
    if load.model == "open":
        share = load.most_in_flight // workers + (worker < load.most_in_flight % workers)
        OpenLoad(engine, (begin_at + instant for instant in instants(load, worker, workers)), share)
        return
    if load.rate_rps is not None:
        ticks = ((begin_at + instant, client) for instant, client in turns(load, worker, workers))
        PacedClients(engine, ticks, end_at)
        return
    if engine.exchange is not None:
        engine.exchange.repeat(ClosedClient, end_at)
    for number in range(worker, load.clients, workers):
        ClosedClient(engine, begin_at + load.ramp_s * number / load.clients, end_at)


class OpenLoad:
    """Starts requests at the instants of a schedule, and drops those for which too many are under way."""

    __slots__ = ("_due", "_engine", "_most_in_flight")

    def __init__(self, engine: LoadEngine[Any], due: Iterator[float], most_in_flight: int) -> None:
        self._engine = engine
        self._due = due
        self._most_in_flight = most_in_flight
        self._wait_for(next(due, inf))

    def over(self, now: float) -> None:
        """Do nothing: the schedule does not depend on answers."""

    def _wait_for(self, due: float) -> None:
        if due < inf:
            self._engine.loop.call_at(due, self._start_due, None)

    def _start_due(self, due: float) -> None:
        engine = self._engine
        # Read once: arrivals that come due in this loop wait until the event loop has handled answers.
        now = engine.loop.clock()
        while due <= now:
            if len(engine.pending) < self._most_in_flight:
                engine.ask(self, due)
            else:
                engine.dropped += 1
            due = next(self._due, inf)
        self._wait_for(due)


class ClosedClient:
    """One client that sends its next request as soon as the last is over."""

    __slots__ = ("_end_at", "_engine")

    def __init__(self, engine: LoadEngine[Any], first_at: float, end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        engine.loop.call_at(first_at, self._begin, None)

    def over(self, now: float) -> None:
        if now < self._end_at:
            self._engine.ask(self, None)

    def _begin(self, at: float) -> None:
        self.over(self._engine.loop.clock())


class PacedClients:
    """Clients that take turns in one schedule: each tick belongs to one of them."""

    __slots__ = ("_clients", "_due", "_end_at", "_engine", "_turn", "_turns")

    def __init__(self, engine: LoadEngine[Any], turns: Iterator[tuple[float, int]], end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        self._clients: dict[int, PacedClient] = {}
        self._turns = turns
        self._due, self._turn = next(turns, _NO_TURN)
        self._wait()

    def _wait(self) -> None:
        if self._due < inf:
            self._engine.loop.call_at(self._due, self._deal, None)

    def _deal(self, at: float) -> None:
        now = self._engine.loop.clock()
        if now >= self._end_at:
            return  # The run is over: this machine was too busy to come here in time.
        ticks: dict[int, float] = {}
        while self._due <= now:
            # If several ticks passed in one wake-up, each client gets its first; the rest are dropped.
            ticks.setdefault(self._turn, self._due)
            self._due, self._turn = next(self._turns, _NO_TURN)
        for number, tick in ticks.items():
            if number not in self._clients:
                self._clients[number] = PacedClient(self._engine, self._end_at)
            self._clients[number].take_turn(tick)
        self._wait()


_NO_TURN = (inf, 0)


class PacedClient:
    """One client: sends at its tick, or as soon after it as its last request is over. Missed ticks are
    dropped.

    A request that had to wait for the one before is intended for the moment when it can be sent. One whose
    client was free is intended for the tick: any delay from there on is lateness of this engine."""

    __slots__ = ("_end_at", "_engine", "_has_missed", "_is_busy")

    def __init__(self, engine: LoadEngine[Any], end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        self._is_busy = False
        """True while its request is under way."""
        self._has_missed = False
        """True if a tick came while its request was under way."""

    def take_turn(self, tick: float) -> None:
        """Send at this tick, or remember it until the last request is over."""
        if self._is_busy:
            self._has_missed = True
        else:
            self._is_busy = True
            self._engine.ask(self, tick)

    def over(self, now: float) -> None:
        self._is_busy = self._has_missed and now < self._end_at
        self._has_missed = False
        if self._is_busy:
            self._engine.ask(self, None)
