"""Measurements of the load engine, with scripted servers on real sockets that answer or fail."""

from __future__ import annotations

import contextlib
import resource
import socket
import sys
import threading
from math import isnan

import pytest

from faultkit.base.errors import RunError
from faultkit.load.connection import Connection
from faultkit.load.engine import Engine
from faultkit.load.load import Load, Target
from faultkit.load.response import Failure
from faultkit.load.route import route_of
from faultkit.load.segment import call_once
from faultkit.proxy.event_loop import Loop, SelectorsPoller
from tests.load.servers import (
    OK,
    PATIENCE_S,
    Run,
    answering,
    in_turn,
    read_request,
    reset,
    serving,
    target_of,
    twice,
    url_of,
)

UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\n"


def test_a_call_that_is_answered_has_its_parts_in_order() -> None:
    with serving(answering(OK)) as server:
        sample = call_once(target_of(server))
    assert (sample.status, sample.failure, sample.received) == (200, Failure.NONE, len(OK))
    assert sample.intended == sample.started >= 0
    assert 0 < sample.connect_s <= sample.first_byte_s <= sample.total_s
    assert isnan(sample.dns_s)
    assert isnan(sample.tls_s)


def test_the_time_of_resolving_a_name_is_measured() -> None:
    with serving(answering(OK)) as server:
        sample = call_once(Target("GET", f"http://localhost:{server.port}/"))
    assert (sample.status, sample.failure) == (200, Failure.NONE)
    assert 0 < sample.dns_s < sample.total_s


def test_an_unknown_name_is_a_failure_of_class_dns() -> None:
    sample = call_once(Target("GET", "http://no-such-host.invalid/"))
    assert (sample.status, sample.failure) == (0, Failure.DNS)


def test_a_name_is_resolved_once_a_run() -> None:
    with serving(answering(OK)) as server:
        rows = in_turn(Target("GET", f"http://localhost:{server.port}/"), 3, keep_alive=False)
    assert [isnan(row.dns_s) for row in rows] == [False, True, True]
    assert [row.failure for row in rows] == [0, 0, 0]


def test_a_closed_port_is_a_refused_connection(closed_port: int) -> None:
    sample = call_once(Target("GET", f"http://127.0.0.1:{closed_port}/"))
    assert (sample.status, sample.failure) == (0, Failure.REFUSED)
    assert isnan(sample.connect_s)


def test_all_addresses_of_a_name_are_tried(closed_port: int) -> None:
    sample = call_once(Target("GET", f"http://localhost:{closed_port}/"))
    assert sample.failure == Failure.REFUSED


def test_a_place_to_which_no_way_leads() -> None:
    # Broadcast: the kernel itself refuses it, on any machine and without sending anything.
    sample = call_once(Target("GET", "http://255.255.255.255:80/"))
    assert sample.failure == Failure.UNREACHABLE


@pytest.mark.parametrize(
    ("last_word", "by_reset", "failure"),
    [
        (b"", False, Failure.CLOSED),
        (b"HTTP/1.1 200 OK\r\nContent-Le", False, Failure.CLOSED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", False, Failure.CLOSED),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", False, Failure.CLOSED),
        (b"", True, Failure.RESET),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", True, Failure.RESET),
        (b"220 mail.example ESMTP\r\n", False, Failure.PROTOCOL),
        (OK + OK, False, Failure.PROTOCOL),
        (OK + b"\x00", False, Failure.PROTOCOL),
        (b"HTTP/1.1 000 Oh\r\nContent-Length: 0\r\n\r\n", False, Failure.PROTOCOL),
        (b"HTTP/1.1 099 Oh\r\n\r\n", False, Failure.PROTOCOL),
        (b"HTTP/1.1 600 Oh\r\nContent-Length: 0\r\n\r\n", False, Failure.PROTOCOL),
        (b"HTTP/1.1 999 Oh\r\n\r\n", False, Failure.PROTOCOL),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", False, Failure.STATUS),
        (b"HTTP/1.1 599 Oh\r\nContent-Length: 0\r\n\r\n", False, Failure.STATUS),
    ],
)
def test_the_ways_in_which_an_answer_fails(last_word: bytes, by_reset: bool, failure: Failure) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(last_word)
        if by_reset:
            reset(connection)

    with serving(serve) as server:
        sample = call_once(target_of(server))
    assert sample.failure == failure
    assert sample.status == (int(last_word[9:12]) if failure is Failure.STATUS else 0)


def test_a_client_error_is_an_answer_and_no_failure() -> None:
    with serving(answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")) as server:
        sample = call_once(target_of(server))
    assert (sample.status, sample.failure) == (404, Failure.NONE)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nSum: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + bytes(300_000),
    ],
)
def test_every_kind_of_answer_leaves_the_connection_ready_for_the_next(answer: bytes) -> None:
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        answering(answer)(connection, number)

    with serving(serve) as server:
        rows = in_turn(target_of(server), 4)
    assert [(row.failure, row.received) for row in rows] == [(0, len(answer))] * 4
    assert connections == [0]
    assert [isnan(row.connect_s) for row in rows] == [False, True, True, True]


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(UNTIL_CLOSE + b"all there is")

    with serving(serve) as server:
        rows = in_turn(target_of(server), 2)
    assert [(row.status, row.failure, row.received) for row in rows] == [(200, 0, len(UNTIL_CLOSE) + 12)] * 2


def test_head_has_an_answer_without_a_body() -> None:
    with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")) as server:
        rows = in_turn(target_of(server, "HEAD"), 3)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 3


def test_an_answer_in_single_bytes() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        read_request(connection)
        for byte in OK:
            connection.sendall(bytes([byte]))

    with serving(serve) as server:
        sample = call_once(target_of(server))
    assert (sample.failure, sample.received) == (0, len(OK))
    assert sample.first_byte_s <= sample.total_s


def test_a_large_body_is_sent_whole() -> None:
    body = bytes(range(256)) * 40_000
    seen = []

    def serve(connection: socket.socket, number: int) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK)

    with serving(serve) as server:
        sample = call_once(target_of(server, "POST", body))
    assert (sample.status, sample.failure) == (200, Failure.NONE)
    assert seen[0].endswith(body)


def test_an_answer_that_comes_before_the_body_is_taken_counts() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"

    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(1000)
        connection.sendall(refusal)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    with serving(serve) as server:
        sample = call_once(target_of(server, "POST", bytes(10_000_000)))
    assert (sample.status, sample.failure) == (413, Failure.NONE)


def test_a_server_that_takes_too_long_is_a_timeout_and_took_that_long() -> None:
    release = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        release.wait(5)

    with serving(serve) as server:
        sample = call_once(target_of(server, timeout_s=0.05))
        release.set()
    assert (sample.status, sample.failure) == (0, Failure.TIMEOUT)
    assert sample.total_s >= 0.05


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses")
def test_a_connection_that_never_comes_about_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as stack:
        for _ in range(
            3
        ):  # No connection is accepted, so the queue is full, and the kernel leaves the next one waiting.
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        sample = call_once(Target("GET", f"http://127.0.0.1:{port}/", timeout_s=0.05))
    assert (sample.status, sample.failure) == (0, Failure.TIMEOUT)
    assert isnan(sample.connect_s)
    assert sample.total_s >= 0.05


def test_requests_for_which_this_machine_has_no_descriptor_are_dropped_and_no_failures() -> None:
    class IdleClient:
        def over(self, now: float) -> None:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        loop = Loop()
        port = listener.getsockname()[1]
        engine = Engine(route_of(Target("GET", f"http://127.0.0.1:{port}/")), loop, loop.clock())
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as probe:
            spare = probe.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare + 2, hard))
        try:
            for _ in range(10):
                engine.ask(IdleClient(), None)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        started, dropped = engine.started, engine.dropped
        engine.close()
        loop.close()
    assert started + dropped == 10
    assert 1 <= started <= 2
    assert engine.errors == 0


def test_a_timeout_ends_one_request_and_not_its_neighbours() -> None:
    release = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            if number == 0:
                release.wait(5)
            with contextlib.suppress(OSError):
                connection.sendall(OK)

    with serving(serve) as server:
        rows = Run(target_of(server, timeout_s=1.0), Load(0.1, 50.0)).rows()
        release.set()
    assert [row.failure for row in rows] == [Failure.TIMEOUT] + [Failure.NONE] * 4
    assert rows[0].total_s >= 1.0


# Kept connections


def test_without_keep_alive_every_request_has_a_connection_of_its_own() -> None:
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        answering(OK)(connection, number)

    with serving(serve) as server:
        rows = in_turn(target_of(server), 3, keep_alive=False)
    assert [row.failure for row in rows] == [0, 0, 0]
    assert not any(isnan(row.connect_s) for row in rows)
    assert connections == [0, 1, 2]


def test_a_server_that_announces_to_close_gets_no_second_request() -> None:
    requests = []

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            requests.append(number)
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    with serving(serve) as server:
        rows = in_turn(target_of(server), 3)
    assert [row.failure for row in rows] == [0, 0, 0]
    assert requests == [0, 1, 2]


def test_a_request_that_crosses_with_the_closing_of_an_idle_connection_is_sent_again() -> None:
    closed = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(OK)
        connection.close()
        closed.set()

    with serving(serve) as server:
        # The loop does not run between the two, so it cannot have seen the end of the first connection.
        first, second = in_turn(target_of(server), 2, between=lambda: closed.wait(5))
    assert (first.failure, second.failure) == (Failure.NONE, Failure.NONE)
    assert not isnan(second.connect_s), "it went over a fresh connection"


def test_a_kept_connection_that_was_reset_while_idle_costs_no_request() -> None:
    done = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(OK)
        if number == 0:
            reset(connection)
        done.set()

    with serving(serve) as server:
        first, second = in_turn(target_of(server), 2, between=lambda: done.wait(5))
    assert (first.failure, second.failure) == (Failure.NONE, Failure.NONE)


@pytest.mark.parametrize(("by_reset", "failure"), [(False, Failure.CLOSED), (True, Failure.RESET)])
def test_a_server_that_gives_up_on_a_request_is_a_failure_on_a_kept_connection_too(
    by_reset: bool, failure: Failure
) -> None:
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        read_request(connection)
        connection.sendall(OK)
        read_request(connection)
        if by_reset:
            reset(connection)

    with serving(serve) as server:
        first, second = in_turn(target_of(server), 2)
    assert (first.failure, second.failure) == (Failure.NONE, failure)
    assert connections == [0], "the request was taken, so it must not be sent twice"


def test_unexpected_bytes_end_an_idle_connection() -> None:
    connections = []
    first_is_over, junk_is_there = threading.Event(), threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        read_request(connection)
        connection.sendall(OK)
        if number == 0:
            first_is_over.wait(5)
            connection.sendall(b"HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n")
            junk_is_there.set()
        connection.recv(1)

    with serving(serve) as server:
        rows = twice(target_of(server), first_is_over, junk_is_there)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 2
    assert connections == [0, 1]


# Other loops, and defects


def test_the_engine_runs_on_the_poller_of_other_platforms() -> None:
    class ThreeTimes:
        asked = 0

        def over(self, now: float) -> None:
            self.asked += 1
            if self.asked <= 3:
                engine.ask(self, None)
            else:
                loop.stop()

    with serving(
        answering(OK, b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + bytes(200_000))
    ) as server:
        loop = Loop(SelectorsPoller())
        engine = Engine(route_of(target_of(server, "POST", bytes(3_000_000))), loop, loop.clock())
        loop.call_at(0.0, ThreeTimes().over, None)
        engine.run()
        rows = list(engine.take_samples())
        engine.close()
        loop.close()
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 3
    assert [isnan(row.connect_s) for row in rows] == [False, True, True]


class Defective:
    def over(self, now: float) -> None:
        raise KeyError("a defect")


class DefectiveEngine(Engine):
    def _time_out(self, connection: Connection) -> None:
        raise KeyError("a defect")


def broken_run(engine: Engine) -> str:
    """Return the error of the engine. It must end without being stopped; a time limit fails the test."""
    loop = engine.loop
    engine.ask(Defective(), None)
    loop.call_at(loop.clock() + PATIENCE_S, lambda at: loop.stop(), None)
    try:
        with pytest.raises(RunError, match="the load engine failed; the log says where") as raised:
            engine.run()
    finally:
        engine.close()
        loop.close()
    (note,) = raised.value.__notes__
    return note


def test_a_defect_of_ours_is_no_figure() -> None:
    with serving(answering(OK)) as server:
        loop = Loop()
        note = broken_run(Engine(route_of(target_of(server)), loop, loop.clock()))
    assert note.startswith("Traceback")
    assert note.endswith("KeyError: 'a defect'\n")


def test_a_defect_after_a_request_that_failed_ends_the_run_as_well(closed_port: int) -> None:
    loop = Loop()
    route = route_of(Target("GET", f"http://127.0.0.1:{closed_port}/"))
    assert "a defect" in broken_run(Engine(route, loop, loop.clock()))


def test_a_defect_where_timeouts_are_looked_at_ends_the_run_as_well() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            pass  # It never answers.

    with serving(serve) as server:
        loop = Loop()
        route = route_of(target_of(server, timeout_s=0.05))
        assert "a defect" in broken_run(DefectiveEngine(route, loop, loop.clock()))


def test_the_server_receives_the_url_unchanged() -> None:
    seen = []

    def serve(connection: socket.socket, number: int) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK)

    with serving(serve) as server:
        call_once(Target("GET", url_of(server, "/a?b=c"), (("X-Y", "z"),)))
    assert seen[0].startswith(f"GET /a?b=c HTTP/1.1\r\nHost: {server}\r\n".encode())
    assert b"\r\nConnection: close\r\n" in seen[0]
    assert b"\r\nX-Y: z\r\n" in seen[0]
