"""A forward proxy breaks the hosts that it is told to break and no other, whatever the side and the fault."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.reset import Reset
from faultkit.plan import Direction, Match, Plan, Rule, Side
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from tests.proxy.origin import Origin, serving
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, read_all

ANY_PORT = Endpoint(LOOPBACK, 0)
HOUR_MS = 3_600_000


@contextmanager
def forward(plan: Plan, *broken: Origin | str) -> Iterator[tuple[Plane, Endpoint]]:
    hosts = [given if isinstance(given, str) else str(given.endpoint) for given in broken]
    with Plane(plan) as plane:
        yield plane, plane.open_proxy(ProxySpec("http", ANY_PORT, broken=UpstreamSet.parse(hosts)))


def get(client: http.client.HTTPConnection, origin: Origin, path: str = "/") -> int:
    client.request("GET", f"http://{origin.endpoint}{path}")
    response = client.getresponse()
    response.read()
    return response.status


def client_of(proxy: Endpoint) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(proxy.host, proxy.port, timeout=PATIENCE_S)


def rule_of(fault: Fault, side: Side = "client", direction: Direction = "both") -> Rule:
    match = Match(side=side, direction=direction) if fault.level == "stream" else Match()
    return Rule("fault", fault, match)


BREAKING = [
    *(
        pytest.param(rule_of(fault, side, direction), id=f"{fault.kind}-{side}-{direction}")
        for fault in (Latency(mean_ms=HOUR_MS), Reset(), Blackhole(), Bandwidth(rate=0.01))
        for side in ("client", "server")
        for direction in ("ingress", "egress", "both")
    ),
    pytest.param(rule_of(Refuse()), id="refuse"),
    pytest.param(rule_of(SlowAccept(delay_ms=HOUR_MS)), id="slow_accept"),
]


@pytest.mark.parametrize("rule", BREAKING)
def test_a_host_that_is_not_named_is_spared(rule: Rule) -> None:
    with serving() as origin, forward(Plan((rule,)), "db.example:5432") as (plane, proxy):
        client = client_of(proxy)
        assert get(client, origin) == 200
        client.close()
        tunnel = client_of(proxy)
        tunnel.set_tunnel(origin.endpoint.host, origin.endpoint.port)
        tunnel.request("GET", "/inside")
        assert tunnel.getresponse().read() == b"GET /inside 0"
        tunnel.close()
        assert plane.snapshot().injected == {"fault": 0}


@pytest.mark.parametrize("rule", BREAKING)
def test_no_host_is_broken_where_none_is_named(rule: Rule) -> None:
    with serving() as origin, forward(Plan((rule,))) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, origin) == 200
        client.close()
        assert plane.snapshot().injected == {"fault": 0}


@pytest.mark.parametrize("direction", ["ingress", "egress", "both"])
@pytest.mark.parametrize("tunnel", [False, True], ids=["plain", "tunnel"])
def test_a_host_that_is_named_is_broken_on_the_client_s_side(direction: Direction, tunnel: bool) -> None:
    rule = rule_of(Latency(mean_ms=1), "client", direction)
    with serving() as origin, forward(Plan((rule,)), origin) as (plane, proxy):
        client = client_of(proxy)
        if tunnel:
            client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
        assert get(client, origin) == 200
        client.close()
        assert plane.snapshot().injected == {"fault": 2 if direction == "both" else 1}


def test_one_connection_to_two_hosts_is_broken_for_one_of_them() -> None:
    rule = rule_of(Latency(mean_ms=1, per="operation"), "client", "ingress")
    with serving() as hit, serving() as spared, forward(Plan((rule,)), hit) as (plane, proxy):
        client = client_of(proxy)
        counts = []
        for origin in (spared, hit, spared, hit, hit, spared):
            assert get(client, origin) == 200
            counts.append(plane.snapshot().injected["fault"])
        client.close()
        assert counts == [0, 1, 1, 2, 3, 3]


def test_a_head_that_comes_byte_by_byte_is_decided_when_it_is_whole() -> None:
    rule = rule_of(Latency(mean_ms=1, per="operation"), "client", "ingress")
    with serving() as origin, forward(Plan((rule,)), origin) as (plane, proxy), connect(proxy) as client:
        for byte in f"GET http://{origin.endpoint}/ HTTP/1.0\r\nHost: a\r\n\r\n":
            client.sendall(byte.encode())
        assert read_all(client).endswith(b"GET / 0")
        assert plane.snapshot().injected == {"fault": 1}


def test_a_body_follows_its_head() -> None:
    rule = rule_of(Latency(mean_ms=1, per="operation"), "client", "ingress")
    with serving() as origin, serving() as spared, forward(Plan((rule,)), origin) as (_, proxy):
        client = client_of(proxy)
        for target in (origin, spared, origin):
            client.request("POST", f"http://{target.endpoint}/", body=b"x" * 300_000)
            assert client.getresponse().read() == b"POST / 300000"
            client.request("POST", f"http://{target.endpoint}/", body=iter([b"abc", b"def"]))
            assert client.getresponse().read() == b"POST / 6"
        client.close()


def test_a_refusal_resets_a_connection_that_names_a_broken_host() -> None:
    with serving() as hit, serving() as spared, forward(Plan((rule_of(Refuse()),)), hit) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, spared) == 200
        with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
            get(client, hit)
        client.close()
        assert plane.snapshot().injected == {"fault": 1}
        assert hit.seen == []


def test_slow_accept_holds_a_connection_once_when_it_names_a_broken_host() -> None:
    rule = rule_of(SlowAccept(delay_ms=5))
    with serving() as hit, serving() as spared, forward(Plan((rule,)), hit) as (plane, proxy):
        client = client_of(proxy)
        counts = []
        for origin in (spared, hit, hit, spared):
            assert get(client, origin) == 200
            counts.append(plane.snapshot().injected["fault"])
        client.close()
        assert counts == [0, 1, 1, 1]


def test_a_connection_that_slow_accept_holds_goes_on_when_the_rule_is_removed() -> None:
    rule = rule_of(SlowAccept(delay_ms=HOUR_MS))
    with serving() as origin, forward(Plan((rule,)), origin) as (plane, proxy), connect(proxy) as client:
        client.sendall(f"GET http://{origin.endpoint}/ HTTP/1.0\r\nHost: a\r\n\r\n".encode())
        while plane.snapshot().injected != {"fault": 1}:
            pass
        plane.set_plan(Plan())
        assert read_all(client).endswith(b"GET / 0")


def test_an_injected_answer_meets_the_rules_of_its_host() -> None:
    rules = (Rule("broken", HttpError(status=500)), Rule("late", Latency(mean_ms=1), Match(side="client")))
    with serving() as origin, forward(Plan(rules), origin) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, origin) == 500
        client.close()
        assert plane.snapshot().injected == {"broken": 1, "late": 1}


def test_what_follows_an_upgrade_is_not_taken_for_a_request() -> None:
    rule = rule_of(Latency(mean_ms=1, per="operation"), "client", "ingress")
    with socket.create_server((LOOPBACK, 0)) as listener:
        listener.settimeout(PATIENCE_S)
        port = listener.getsockname()[1]
        with forward(Plan((rule,)), f"{LOOPBACK}:{port}") as (_, proxy), connect(proxy) as client:
            client.sendall(
                f"GET http://{LOOPBACK}:{port}/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
                "Upgrade: echo\r\n\r\n".encode()
            )
            server, _ = listener.accept()
            with server:
                server.settimeout(PATIENCE_S)
                server.recv(65536)
                answer = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
                server.sendall(answer)
                assert client.recv(len(answer), socket.MSG_WAITALL) == answer
                client.sendall(b"PING no head")
                assert server.recv(12, socket.MSG_WAITALL) == b"PING no head"


def test_a_client_side_rule_that_is_added_live_acts_on_an_open_tunnel_of_its_host_only() -> None:
    rule = rule_of(Latency(mean_ms=1, per="operation"), "client", "ingress")
    with serving() as hit, serving() as spared, forward(Plan(), hit) as (plane, proxy):
        clients = []
        for origin in (hit, spared):
            client = client_of(proxy)
            client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
            client.connect()
            clients.append(client)
        plane.set_plan(Plan((rule,)))
        for client, expected in zip(clients, (1, 1), strict=True):
            client.request("GET", "/")
            assert client.getresponse().read() == b"GET / 0"
            client.close()
            assert plane.snapshot().injected == {"fault": expected}
