"""Open and closed loads: when requests start, which are dropped, and the figures of a frozen server."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace
from math import isnan

import pytest

from faultkit.load.engine import Engine
from faultkit.load.load import Load, Target, instants
from faultkit.load.load_models import start_load
from faultkit.load.response import Failure
from faultkit.load.route import route_of
from faultkit.load.samples import Sample, Samples
from faultkit.proxy.event_loop import Loop
from tests.load.rows import summarize
from tests.load.servers import OK, Run, answering, read_request, serving, target_of


def test_an_open_load_starts_every_arrival_of_its_schedule_and_never_early() -> None:
    load = Load(0.2, 200.0)
    with serving(answering(OK)) as server:
        run = Run(target_of(server), load)
    rows = run.rows()
    assert [row.intended for row in rows] == pytest.approx(list(instants(load)), abs=1e-6)
    assert all(row.started >= row.intended for row in rows)
    assert (run.counts.started, run.counts.errors, run.counts.in_flight, run.counts.dropped) == (40, 0, 0, 0)
    assert run.end.total_s >= 0.2
    assert not run.end.cut_short


@pytest.mark.parametrize(
    "load",
    [
        Load(0.3, 100.0, ramp_s=0.2),
        Load(0.3, 100.0, spacing="poisson", seed=5),
        Load(0.1, 0.5),
    ],
)
def test_other_schedules_are_followed_as_well(load: Load) -> None:
    with serving(answering(OK)) as server:
        rows = Run(target_of(server), load).rows()
    assert [row.intended for row in rows] == pytest.approx(list(instants(load)), abs=1e-6)


def test_workers_share_a_schedule() -> None:
    load = Load(0.1, 100.0)
    with serving(answering(OK)) as server:
        parts = [Run(target_of(server), load, worker=number, workers=3).rows() for number in range(3)]
    union = sorted(row.intended for part in parts for row in part)
    assert union == pytest.approx(list(instants(load)), abs=1e-6)
    assert [len(part) for part in parts] == [4, 3, 3]


class Freezer:
    """A server that answers ten requests at once, and then none until it is thawed."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._thawed = threading.Event()
        self.frozen: list[int] = []
        """The number of requests that arrived while it was frozen."""

    def thaw(self) -> None:
        self._thawed.set()

    def serve(self, connection: socket.socket, number: int) -> None:
        while read_request(connection):
            with self._lock:
                self._count = count = self._count + 1
                if count > 10 and not self._thawed.is_set():
                    self.frozen.append(count)
            if count > 10:
                self._thawed.wait(5)
            connection.sendall(OK)


def test_a_frozen_server_is_felt_by_every_arrival_of_an_open_load() -> None:
    """The server thaws after 30 requests, which never arrive if missing answers hold arrivals back."""
    freezer = Freezer()
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        if len(connections) == 30:
            freezer.thaw()
        freezer.serve(connection, number)

    with serving(serve) as server:
        rows = Run(target_of(server), Load(0.4, 100.0, keep_alive=False)).rows()
    assert [row.failure for row in rows] == [0] * 40
    thawed_at = rows[29].started
    # Number 10 + k waited from its own time to the thaw: 190, 180, 170 … milliseconds and more.
    response_s = [row.started + row.total_s - row.intended for row in rows[10:29]]
    assert all(
        seconds >= thawed_at - row.intended > 0 for seconds, row in zip(response_s, rows[10:29], strict=True)
    )
    assert sum(seconds >= 0.1 for seconds in response_s) >= 9


def test_a_frozen_server_is_felt_by_one_request_only_of_a_closed_client() -> None:
    """The client sends nothing while it waits, so all other requests of that time are missing."""
    freezer = Freezer()
    ticks: list[None] = []

    def look() -> bool:
        ticks.append(None)
        if freezer.frozen and len(ticks) > 5:
            freezer.thaw()
        return False

    with serving(freezer.serve) as server:
        rows = Run(target_of(server), Load(0.8, 100.0, 1, "closed"), stopped=look).rows()
    assert [row.failure for row in rows] == [0] * len(rows)
    assert freezer.frozen == [11]
    assert all(row.intended <= row.started for row in rows)
    # The client was busy at the tick, so the intended start is the actual one.
    assert rows[11].intended == rows[11].started >= rows[10].started + rows[10].total_s


def test_arrivals_that_find_too_many_under_way_are_dropped_and_counted() -> None:
    release = threading.Event()
    ticks: list[None] = []

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            release.wait(5)
            connection.sendall(OK)

    def look() -> bool:
        ticks.append(None)
        if len(ticks) >= 4:  # At 300 ms, or later.
            release.set()
        return False

    with serving(serve) as server:
        run = Run(target_of(server), Load(0.2, 100.0, most_in_flight=4), stopped=look)
    assert (run.counts.started, run.counts.dropped) == (4, 16)
    assert [row.failure for row in run.rows()] == [0, 0, 0, 0]
    # Requests in flight at the end of the duration were waited for.
    assert run.end.total_s >= 0.3


def test_requests_under_way_at_the_end_are_waited_for_until_their_timeout() -> None:
    release = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        release.wait(5)

    with serving(serve) as server:
        run = Run(target_of(server, timeout_s=0.2), Load(0.05, 100.0))
        release.set()
    assert [row.failure for row in run.rows()] == [Failure.TIMEOUT] * 5


def test_a_target_that_dies_is_so_many_failures() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection) and number < 3:
            connection.sendall(OK)

    with serving(serve) as server:
        run = Run(target_of(server), Load(0.2, 100.0, keep_alive=False))
    failures = [row.failure for row in run.rows()]
    assert failures.count(Failure.NONE) == 3
    assert failures.count(Failure.CLOSED) == 17
    assert run.counts.errors == 17


def test_a_closed_load_without_a_rate_keeps_each_client_busy() -> None:
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        answering(OK)(connection, number)

    with serving(serve) as server:
        run = Run(target_of(server), Load(0.1, None, 3, "closed"))
    rows = run.rows()
    assert sorted(connections) == [0, 1, 2]
    assert len(rows) > 3
    assert run.counts.started == len(rows)
    assert all(row.intended == row.started for row in rows)
    assert sum(not isnan(row.connect_s) for row in rows) == 3


def test_clients_begin_one_after_the_other_during_a_ramp() -> None:
    with serving(answering(OK)) as server:
        rows = Run(target_of(server), Load(0.3, None, 3, "closed", ramp_s=0.2)).rows()
    firsts = [row.started for row in rows if not isnan(row.connect_s)]
    assert len(firsts) == 3
    assert all(started >= tick for started, tick in zip(firsts, (0, 0.2 / 3, 0.4 / 3), strict=True))


def test_a_paced_client_waits_for_its_tick_and_does_not_make_up_for_missed_ones() -> None:
    """Ticks are 20 ms apart; the second answer takes at least three of them."""
    release = threading.Event()
    asked = []

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            asked.append(number)
            if len(asked) == 2:
                threading.Timer(0.07, release.set).start()
                release.wait(5)
            connection.sendall(OK)

    with serving(serve) as server:
        rows = Run(target_of(server), Load(0.6, 50.0, 1, "closed")).rows()
    ticks = [0.02 * number for number in range(30)]
    starts = [row.started for row in rows]
    # At most one start for each tick that had come, and no burst after the long wait.
    assert all(sum(tick <= start for tick in ticks) >= place + 1 for place, start in enumerate(starts))
    late = rows[1].started + rows[1].total_s
    missed = sum(rows[1].started < tick <= late for tick in ticks)
    assert missed >= 2
    assert len(rows) <= 30 - missed + 1


class LeapingLoop(Loop):
    """Simulate a thread that stood still: the clock leaps by `leap_s` when one request is over."""

    def __init__(self, leap_s: float) -> None:
        self.leapt_s = 0.0
        super().__init__(clock=lambda: time.monotonic() + self.leapt_s)
        self.begin_at = self.clock()
        self._leap_s = leap_s

    def run_load(self, target: Target, load: Load) -> list[Sample]:
        engine = Engine(route_of(target), self, self.begin_at)

        def look(at: float) -> None:
            if engine.started > len(engine.pending):
                self.leapt_s = self._leap_s
            self.call_at(self.clock() + 0.001, look, None)

        try:
            start_load(engine, load, self.begin_at)
            self.call_at(self.begin_at, look, None)
            self.call_at(self.begin_at + load.duration_s, lambda at: engine.finish(), None)
            engine.run()
            return sorted(engine.take_samples())
        finally:
            engine.close()
            self.close()


def test_the_intended_start_of_a_free_client_that_wakes_late_is_its_tick() -> None:
    """Ticks are at 0, 50 and 100 s; the clock leaps to 105 s, when two of them have come."""
    with serving(answering(OK)) as server:
        rows = LeapingLoop(105.0).run_load(target_of(server), Load(105.1, 0.02, 1, "closed"))
    assert [row.failure for row in rows] == [0, 0]
    assert [row.intended for row in rows] == pytest.approx([0.0, 50.0], abs=1e-6)
    assert rows[1].started >= 105.0
    summary = summarize(Samples.of(rows), None, total_s=105.1)
    assert summary.starts.late == 1
    assert summary.starts.max_ms >= 55_000


@pytest.mark.parametrize(
    "load",
    [Load(100.0, 0.05, 1, "closed"), Load(100.0, None, 2, "closed", ramp_s=100.0)],
    ids=["paced", "eager"],
)
def test_a_closed_load_that_is_woken_after_its_end_sends_nothing_more(load: Load) -> None:
    with serving(answering(OK)) as server:
        loop = LeapingLoop(1000.0)
        rows = loop.run_load(target_of(server), load)
    assert rows[0].failure == 0
    assert all(row.started < 100 for row in rows)


def test_many_clients_share_one_schedule_from_its_first_tick_on() -> None:
    load = Load(0.3, 100.0, 20_000, "closed", spacing="poisson", seed=3)
    with serving(answering(OK)) as server:
        rows = Run(target_of(server), load).rows()
    assert [row.intended for row in rows] == pytest.approx(
        list(instants(replace(load, model="open"))), abs=1e-6
    )


def test_a_stopped_run_keeps_its_results() -> None:
    seen = []
    stop = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            seen.append(number)
            if len(seen) == 5:
                stop.set()
            connection.sendall(OK)

    with serving(serve) as server:
        run = Run(target_of(server), Load(600.0, 100.0), stopped=stop.is_set)
    assert run.end.cut_short
    assert len(run.samples) >= 4
    assert run.end.total_s < 600
