"""Who asks, and when: the two models of load. They know the clock and the engine, not the network.

Open: a pump follows the schedule, whatever became of the requests before. Closed: so many clients,
each of which waits until its request is over before it asks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from faultkit.load.arrivals import instants, turns
from faultkit.load.engine import Engine
from faultkit.load.load import Load


def start_asking(engine: Engine, load: Load, begin_at: float, worker: int = 0, workers: int = 1) -> None:
    """Set one worker's part of a load going."""
    end_at = begin_at + load.duration_s
    if load.model == "open":
        share = load.most_in_flight // workers + (worker < load.most_in_flight % workers)
        Pump(engine, (begin_at + instant for instant in instants(load, worker, workers)), share)
        return
    if load.rate_rps is not None:
        ticks = ((begin_at + instant, client) for instant, client in turns(load, worker, workers))
        Dealer(engine, ticks, end_at)
        return
    for number in range(worker, load.clients, workers):
        EagerClient(engine, begin_at + load.ramp_s * number / load.clients, end_at)


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
        engine.loop.call_at(first_at, self._begin)

    def over(self, now: float) -> None:
        if now < self._end_at:
            self._engine.ask(self, None)

    def _begin(self, at: float) -> None:
        self.over(self._engine.loop.clock())


class Dealer:
    """Gives each tick of a paced load to the client whose turn it is. Ticks are absolute times, too."""

    __slots__ = ("_clients", "_due", "_end_at", "_engine", "_turn", "_turns")

    def __init__(self, engine: Engine, turns: Iterator[tuple[float, int]], end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        self._clients: dict[int, PacedClient] = {}
        self._turns = turns
        self._due, self._turn = next(turns, _NO_TURN)
        self._wait()

    def _wait(self) -> None:
        if self._due < inf:
            self._engine.loop.call_at(self._due, self._deal)

    def _deal(self, at: float) -> None:
        now = self._engine.loop.clock()
        if now >= self._end_at:
            return  # We are that late ourselves.
        ticks: dict[int, float] = {}
        while self._due <= now:
            # Of several ticks that came while nobody looked, a client is owed the first; the others are gone.
            ticks.setdefault(self._turn, self._due)
            self._due, self._turn = next(self._turns, _NO_TURN)
        for number, tick in ticks.items():
            if number not in self._clients:
                self._clients[number] = PacedClient(self._engine, self._end_at)
            self._clients[number].take_turn(tick)
        self._wait()


_NO_TURN = (inf, 0)


class PacedClient:
    """Asks at its tick, or as soon after it as its last request is over. Ticks that it missed are gone.

    A request that had to wait for the one before is meant for the moment when it can be sent. One whose
    client was free is meant for the tick: what is lost from there on is our own lateness."""

    __slots__ = ("_asks", "_end_at", "_engine", "_has_missed")

    def __init__(self, engine: Engine, end_at: float) -> None:
        self._engine = engine
        self._end_at = end_at
        self._asks = False
        """Its request is under way."""
        self._has_missed = False
        """A tick, while it waited for that."""

    def take_turn(self, tick: float) -> None:
        if self._asks:
            self._has_missed = True
        else:
            self._asks = True
            self._engine.ask(self, tick)

    def over(self, now: float) -> None:
        self._asks = self._has_missed and now < self._end_at
        self._has_missed = False
        if self._asks:
            self._engine.ask(self, None)
