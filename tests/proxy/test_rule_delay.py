"""Delays that have begun end with the rule that caused them. An hour stands for "never" here."""

from __future__ import annotations

import socket
import struct
from typing import Literal

import pytest

from faultkit.base.address import Endpoint
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule, parse_schedule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from tests.proxy.origin import serving
from tests.proxy.wires import LOOPBACK, connect, plan_of, read_exactly, wired

ANY_PORT = Endpoint(LOOPBACK, 0)
HOUR_MS = 3_600_000
SLOW_REQUEST = Rule("slow", HttpDelay(delay_ms=HOUR_MS))


def wait_until_injected(plane: Plane, rule: str, times: int = 1) -> None:
    while plane.snapshot().injected.get(rule, 0) < times:
        pass


def test_a_connection_that_slow_accept_holds_goes_on_when_the_rule_is_removed() -> None:
    with wired(plan_of(SlowAccept(delay_ms=HOUR_MS))) as wire, connect(wire.proxy) as client:
        client.sendall(b"patience")
        wait_until_injected(wire.plane, "0-slow_accept")
        wire.plane.set_plan(Plan())
        server, _ = wire.upstream.accept()
        with server:
            assert read_exactly(server, 8) == b"patience"


def test_a_connection_whose_client_has_left_is_not_kept_when_slow_accept_is_removed() -> None:
    with wired(plan_of(SlowAccept(delay_ms=HOUR_MS))) as wire:
        connect(wire.proxy).close()
        wait_until_injected(wire.plane, "0-slow_accept")
        wire.plane.set_plan(Plan())
        server, _ = wire.upstream.accept()
        with server:
            assert server.recv(1) == b""
        while wire.plane.snapshot().proxies[0].live:
            pass


def test_a_delay_of_slow_accept_ends_with_the_window_of_its_schedule() -> None:
    rule = Rule("slow", SlowAccept(delay_ms=HOUR_MS), schedule=parse_schedule("duration:200ms"))
    with wired(Plan((rule,), 1)) as wire, connect(wire.proxy) as client:
        client.sendall(b"patience")
        server, _ = wire.upstream.accept()
        with server:
            assert read_exactly(server, 8) == b"patience"


def test_the_delay_of_a_rule_that_stays_is_kept() -> None:
    rules = (Rule("short", SlowAccept(delay_ms=50)), Rule("long", SlowAccept(delay_ms=HOUR_MS)))
    with wired(Plan(rules, 1)) as wire, connect(wire.proxy) as client:
        client.sendall(b"x")
        wait_until_injected(wire.plane, "long")
        wire.plane.set_plan(Plan(rules[:1], 1))
        server, _ = wire.upstream.accept()
        with server:
            assert read_exactly(server, 1) == b"x"
        assert wire.plane.snapshot().injected == {"short": 1, "long": 1}, "not judged again"


def test_a_look_up_goes_on_when_the_rule_that_delays_it_is_removed() -> None:
    with serving() as origin, Plane(Plan((Rule("slow", Dns(outcome="resolve", delay_ms=HOUR_MS)),))) as plane:
        spec = ProxySpec("web", ANY_PORT, Endpoint("localhost", origin.endpoint.port))
        with connect(plane.open_proxy(spec)) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            wait_until_injected(plane, "slow")
            plane.set_plan(Plan())
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("forward", [False, True], ids=["inline", "forward"])
def test_a_request_that_http_delay_holds_goes_on_when_the_rule_is_removed(forward: bool) -> None:
    with serving() as origin, Plane(Plan((SLOW_REQUEST,))) as plane:
        spec = ProxySpec("web", ANY_PORT, None if forward else origin.endpoint, speaks="http")
        target = f"http://{origin.endpoint}/a" if forward else "/a"
        with connect(plane.open_proxy(spec)) as client:
            client.sendall(f"GET {target} HTTP/1.1\r\nHost: {origin.endpoint}\r\n\r\n".encode())
            wait_until_injected(plane, "slow")
            plane.set_plan(Plan())
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
            # The connection is not behind its time either.
            client.sendall(f"GET {target} HTTP/1.0\r\nHost: {origin.endpoint}\r\n\r\n".encode())
            while client.recv(100):
                pass


def test_an_answer_of_a_fault_that_http_delay_holds_comes_when_the_delay_is_removed() -> None:
    broken = Rule("broken", HttpError(status=503))
    with serving() as origin, Plane(Plan((SLOW_REQUEST, broken))) as plane:
        with connect(plane.open_proxy(ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http"))) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_until_injected(plane, "broken")
            plane.set_plan(Plan((broken,)))
            assert client.recv(100).startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize(
    ("rules", "speaks", "host"),
    [
        ((SLOW_REQUEST,), "http", LOOPBACK),
        ((SLOW_REQUEST,), "http", None),
        ((SLOW_REQUEST, Rule("broken", HttpError(call_upstream=True))), "http", LOOPBACK),
        ((Rule("slow", SlowAccept(delay_ms=HOUR_MS)),), "http", LOOPBACK),
        ((Rule("slow", SlowAccept(delay_ms=HOUR_MS)),), "tcp", LOOPBACK),
        ((Rule("slow", Dns(outcome="resolve", delay_ms=HOUR_MS)),), "tcp", "localhost"),
        (
            (
                Rule("slow", Dns(outcome="resolve", delay_ms=HOUR_MS)),
                Rule("late", HttpDelay(delay_ms=HOUR_MS)),
            ),
            "http",
            "localhost",
        ),
    ],
    ids=["http_delay", "forward", "http_error", "slow_accept", "slow_accept tcp", "dns", "dns http"],
)
def test_a_client_that_resets_while_a_rule_delays_it_is_not_kept(
    rules: tuple[Rule, ...], speaks: Literal["http", "tcp"], host: str | None
) -> None:
    with serving() as origin, Plane(Plan(rules)) as plane:
        upstream = None if host is None else Endpoint(host, origin.endpoint.port)
        client = connect(plane.open_proxy(ProxySpec("web", ANY_PORT, upstream, speaks=speaks)))
        client.sendall(f"GET http://{origin.endpoint}/a HTTP/1.1\r\nHost: {origin.endpoint}\r\n\r\n".encode())
        wait_until_injected(plane, "slow")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        while plane.snapshot().proxies[0].live:
            pass
        assert origin.seen == []


def test_requests_in_a_pipeline_come_forward_in_their_order() -> None:
    with serving() as origin, Plane(Plan((SLOW_REQUEST,))) as plane:
        with connect(plane.open_proxy(ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http"))) as client:
            for path in ("/1", "/2", "/3"):
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            wait_until_injected(plane, "slow", times=3)
            plane.set_plan(Plan((Rule("late", Latency(mean_ms=1), Match(side="client")),)))
            received = b""
            while b"GET /3 0" not in received:
                received += client.recv(1000)
        assert [path for _, path, _ in origin.seen] == ["/1", "/2", "/3"]
