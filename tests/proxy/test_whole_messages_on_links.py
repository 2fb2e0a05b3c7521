"""Requests and responses that pass a link as they are, on a kept connection.

The first request of a connection goes the long way, because it may be HTTP/2; so each test sends one before.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faultkit.faults.events import Data, Event
from faultkit.faults.fault import FOREVER
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule, Trigger
from faultkit.proxy.active_plan import ActivePlan
from faultkit.proxy.data_plane import ProxySpec, Worker
from faultkit.proxy.direction import Direction
from faultkit.proxy.direction_output import DirectionOutput
from faultkit.proxy.event_loop import READABLE, Loop
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Injected, Requested
from faultkit.proxy.proxy_state import LinkServices
from tests.proxy.proxied_http import ANY_PORT
from tests.proxy.wires import PATIENCE_S, connect, endpoint_of, listening, read_exactly

HOUR_MS = 3_600_000
GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ON_SLOW = Match(path="/slow")


def answer_of(size: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)


@contextmanager
def kept(*rules: Rule, observed: bool = False) -> Iterator[tuple[Plane, socket.socket, socket.socket]]:
    """Both ends of a connection on which one request was answered."""
    with listening() as upstream, Plane(Plan(rules, 5), observed=observed) as plane:
        proxy = plane.open_proxy(ProxySpec("web", ANY_PORT, endpoint_of(upstream), speaks="http"))
        with connect(proxy) as client:
            client.sendall(GET)
            server, _ = upstream.accept()
            server.settimeout(PATIENCE_S)
            with server:
                assert read_exactly(server, len(GET)) == GET
                server.sendall(OK)
                assert read_exactly(client, len(OK)) == OK
                yield plane, client, server


def test_a_delayed_request_is_never_early_and_a_pipelined_one_stays_behind_it() -> None:
    with kept(Rule("slow", HttpDelay(delay_ms=40), ON_SLOW)) as (_, client, server):
        for _ in range(3):
            began = time.monotonic()
            client.sendall(SLOW)
            client.sendall(GET)
            assert read_exactly(server, len(SLOW + GET)) == SLOW + GET
            assert time.monotonic() - began >= 0.04
            server.sendall(OK + OK)
            assert read_exactly(client, 2 * len(OK)) == OK + OK


def test_a_delay_that_waits_ends_with_its_rule() -> None:
    with kept(Rule("slow", HttpDelay(delay_ms=HOUR_MS), ON_SLOW)) as (plane, client, server):
        client.sendall(SLOW)
        while not plane.snapshot().injected.get("slow"):
            pass
        assert plane.snapshot().held_bytes == len(SLOW)
        plane.set_plan(Plan())
        assert read_exactly(server, len(SLOW)) == SLOW
        assert plane.snapshot().held_bytes == 0


def test_a_stream_rule_that_comes_later_acts_between_whole_messages() -> None:
    delay = Rule("slow", HttpDelay(delay_ms=0))
    with kept(delay) as (plane, client, server):
        plane.set_plan(Plan((delay, Rule("lag", Latency(mean_ms=30, per="operation"))), 5))
        client.sendall(GET)
        read_exactly(server, len(GET))
        began = time.monotonic()
        server.sendall(OK)
        assert read_exactly(client, len(OK)) == OK
        assert time.monotonic() - began >= 0.03


def test_a_client_that_reads_late_gets_every_byte_in_order() -> None:
    answers = [answer_of(200_000 + number) for number in range(20)]

    def serve(server: socket.socket) -> None:
        for answer in answers:
            read_exactly(server, len(GET))
            server.sendall(answer)

    with kept(Rule("slow", HttpDelay(delay_ms=0))) as (plane, client, server):
        serving = threading.Thread(target=serve, args=(server,))
        serving.start()
        for _ in answers:
            client.sendall(GET)
        expected = b"".join(answers)
        assert read_exactly(client, len(expected)) == expected
        serving.join()
        assert plane.snapshot().held_bytes == 0


def test_a_request_with_a_body_and_half_a_head_pass_between_whole_requests() -> None:
    with kept(Rule("slow", HttpDelay(delay_ms=1))) as (_, client, server):
        post = b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
        chunked = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        for request in (GET, post, GET, chunked, GET):
            client.sendall(request[:12])
            client.sendall(request[12:])
            assert read_exactly(server, len(request)) == request
            server.sendall(OK[:9])
            server.sendall(OK[9:])
            assert read_exactly(client, len(OK)) == OK


def test_a_half_close_behind_a_whole_request_is_passed_on_and_the_answer_comes() -> None:
    with kept(Rule("slow", HttpDelay(delay_ms=5))) as (_, client, server):
        client.sendall(GET)
        client.shutdown(socket.SHUT_WR)
        assert read_exactly(server, len(GET)) == GET
        assert server.recv(1) == b""
        server.sendall(OK)
        server.close()
        assert read_exactly(client, len(OK)) == OK
        assert client.recv(1) == b""


def test_requests_that_a_rule_answers_are_told_as_on_the_long_way() -> None:
    rule = Rule("broken", HttpError(status=503), trigger=Trigger(every=2))
    with kept(rule, observed=True) as (plane, client, server):
        for number in range(4):
            client.sendall(GET)
            if number % 2:
                assert read_exactly(server, len(GET)) == GET
                server.sendall(OK)
                assert read_exactly(client, len(OK)) == OK
            else:
                assert client.recv(1000).startswith(b"HTTP/1.1 503 ")
        events = plane.take_events()
        assert [each.injected for each in events if isinstance(each, Requested)] == [
            (),
            ("broken",),
            (),
            ("broken",),
            (),
        ]
        assert [(each.n, each.effect, each.value) for each in events if isinstance(each, Injected)] == [
            (1, "status", 503),
            (3, "status", 503),
        ]


class FakeLink:
    """Two directions between two pairs of sockets, and a layer that only notes what it is fed."""

    def __init__(self, loop: Loop) -> None:
        services = LinkServices(
            loop, lambda event: None, ActivePlan(Plan(), 0, None), Worker(), observed=False
        )
        pairs = [socket.socketpair() for _ in range(2)]
        for sock in (*pairs[0], *pairs[1]):
            sock.setblocking(False)
        (self.client, near), (far, self.server) = pairs
        self.sockets = (self.client, near, far, self.server)
        self.up: Direction = Direction(self, services, near.fileno(), far.fileno())
        self.down: Direction = Direction(self, services, far.fileno(), near.fileno())
        self.up.enter_layer()
        self.down.enter_layer()
        loop.poller.add(far.fileno())
        self.fed: list[Event] = []
        self.released = 0
        self.wants = True

    def pass_through_layer(self, direction: Direction, events: list[Event], now: float) -> None:
        self.fed += events
        self.released += 1

    def layer_wants_input(self, direction: Direction) -> bool:
        return self.wants

    def on_drained(self, direction: DirectionOutput) -> None:
        pass

    def ask(self, payload: bytes) -> None:
        """Let the client send, and the proxy read."""
        self.client.sendall(payload)
        self.up.ready(READABLE)

    def abort(self) -> None:
        raise AssertionError


@pytest.fixture
def link() -> Iterator[FakeLink]:
    loop = Loop()
    link = FakeLink(loop)
    yield link
    for sock in link.sockets:
        sock.close()
    loop.close()


def test_what_passes_as_it_is_is_sent_at_once_or_when_it_is_due(link: FakeLink) -> None:
    link.up.whole = lambda payload, now: now + 1000 if payload == b"later" else now
    link.ask(b"now")
    assert link.server.recv(10) == b"now"
    link.ask(b"later")
    link.ask(b"behind")
    with pytest.raises(BlockingIOError):
        link.server.recv(10)
    far = link.up.far_chain
    assert far is not None
    assert [event.payload for event in far.incoming if isinstance(event, Data)] == [b"later", b"behind"]
    assert far.held_bytes == link.up._services.budget.held == 11
    assert link.up._timer_at == far.incoming[0].at
    assert link.fed == []


def test_what_does_not_pass_is_fed_to_the_layer_once(link: FakeLink) -> None:
    link.up.whole = lambda payload, now: FOREVER if payload == b"taken" else None
    link.ask(b"taken")
    assert (link.fed, link.released) == ([], 1)
    link.ask(b"other")
    assert [event.payload for event in link.fed if isinstance(event, Data)] == [b"other"]
    assert link.released == 2


def test_what_a_full_target_does_not_take_waits_and_stops_the_source(link: FakeLink) -> None:
    link.up.whole = lambda payload, now: now
    payload = bytes(range(256)) * 200
    asked = 0
    while link.up.out_bytes < 65536:
        link.ask(payload)
        asked += 1
    link.wants = False
    link.ask(b"the end")
    assert link.up.readable
    received = b""
    while len(received) < len(payload) * asked:
        received += link.server.recv(1 << 20)
        link.up.writable = True
        link.up.flush()
    assert received == payload * asked
    assert link.fed == []


def test_nothing_is_read_while_too_much_waits_for_the_other_side(link: FakeLink) -> None:
    link.up.whole = lambda payload, now: now
    link.wants = False
    link.down.writable = False
    link.down.keep(bytes(65536))
    link.ask(b"unread")
    with pytest.raises(BlockingIOError):
        link.server.recv(10)
    assert link.up.readable


@pytest.mark.parametrize("ends", ["client", "server"])
def test_a_reset_while_a_request_waits_ends_both_sides(ends: str) -> None:
    with kept(Rule("slow", HttpDelay(delay_ms=HOUR_MS), ON_SLOW)) as (plane, client, server):
        client.sendall(SLOW)
        while not plane.snapshot().injected.get("slow"):
            pass
        gone, other = (client, server) if ends == "client" else (server, client)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        gone.close()
        with pytest.raises(ConnectionResetError):
            other.recv(1)
        while plane.snapshot().proxies[0].live:
            pass
        assert plane.snapshot().held_bytes == 0
