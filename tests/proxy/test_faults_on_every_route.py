"""Every stream fault on every kind of route, on both sides and in all directions: what the client sees.

One exchange: a request with a body, an answer that ends with its connection. A client that is kept waiting
longer than the fault says is a failure here, and so is an effect that is not counted. The usual run has every
pair of fault, route and match; `make test ALL=1` has every combination.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal, get_args

import pytest
import trustme

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.fault import StreamFault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.corrupt import Corrupt
from faultkit.faults.stream.half_open import HalfOpen
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.stream.timeout import Timeout
from faultkit.plan import Direction, Flow, Match, Plan, Rule, Side
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.http.own_answer import ESTABLISHED
from faultkit.proxy.plane import Plane
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect

Effect = Literal["whole", "altered", "closed", "reset", "silent"]
"""The answer as it was sent; another one, or another request; none or a part, then an end in good order, or a
RST; nothing at all for as long as the fault acts."""

HELD_S = 0.03
SENT = bytes(range(256)) * 8
ANSWER = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + bytes(range(255, -1, -1)) * 80
NEVER = Rule("never", HttpError(), Match(path="/no-such-path"))
"""A rule that never acts, so that an HTTP map parses requests."""


# --- what is asked and what answers -------------------------------------------------------------


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, context: ssl.SSLContext | None) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.context = context
        self.seen: dict[str, bytes] = {}
        """Received bodies, by path."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # Faults cut connections here on purpose.

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(LOOPBACK, self.server_address[1])


class Handler(socketserver.BaseRequestHandler):
    server: Server

    def handle(self) -> None:
        sock: socket.socket = self.request
        sock.settimeout(PATIENCE_S)
        if self.server.context is not None:
            # A socket that was reset before it is wrapped would be left open by the ssl module.
            if not sock.recv(1, socket.MSG_PEEK):
                return
            # It ends with the socket, without close_notify, which would be bytes and not an end.
            sock = self.server.context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        with sock:
            received = b""
            while len(received.partition(b"\r\n\r\n")[2]) < len(SENT):
                piece = sock.recv(65536)
                if not piece:
                    return
                received += piece
            head, _, body = received.partition(b"\r\n\r\n")
            self.server.seen[head.split(b" ")[1].decode("latin-1")] = body
            sock.sendall(ANSWER)


@contextlib.contextmanager
def running(context: ssl.SSLContext | None) -> Iterator[Server]:
    with Server(context) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[bool, Server]]:
    """Start one server without TLS and one with TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    with running(None) as clear, running(context) as secret:
        yield {False: clear, True: secret}


@pytest.fixture(autouse=True)
def nothing_fails_inside(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.ERROR, "faultkit"):
        yield
    assert [record.getMessage() for record in caplog.records if record.name.startswith("faultkit")] == []


# --- the routes ---------------------------------------------------------------------------------


def _post(target: str) -> bytes:
    head = f"POST {target} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(SENT)}\r\n\r\n"
    return head.encode() + SENT


@dataclass(frozen=True)
class Route:
    spec: ProxySpec
    ask: Callable[[str, Endpoint], bytes] = lambda path, origin: _post(path)

    def over(self, origin: Endpoint) -> ProxySpec:
        forward = self.spec.broken is not None
        return self.spec if forward else replace(self.spec, upstream=origin)


_MAP = ProxySpec("p", Endpoint(LOOPBACK, 0))
_FORWARD = replace(_MAP, broken=UpstreamSet.parse(["*"]))
ROUTES = {
    "tcp map": Route(_MAP),
    "http map": Route(replace(_MAP, speaks="http")),
    "http map to TLS": Route(replace(_MAP, speaks="http", tls=True, verify=False)),
    "reverse http map": Route(replace(_MAP, speaks="http", rewrite_host=True)),
    "forward": Route(_FORWARD, lambda path, origin: _post(f"http://{origin}{path}")),
    "forward to TLS": Route(
        replace(_FORWARD, verify=False), lambda path, origin: _post(f"https://{origin}{path}")
    ),
    "CONNECT": Route(
        _FORWARD,
        lambda path, origin: f"CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n\r\n".encode() + _post(path),
    ),
}


# --- the faults ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    fault: StreamFault
    effect: Effect
    least_s: dict[Flow, float]
    """Least seconds for which the client waits, by the flow on which the fault acts."""
    flows: tuple[Flow, ...] = ("to_upstream", "to_client")
    """The flows on which it can act in this exchange."""
    afterwards: Effect | None = None
    """What a client that got nothing sees when the fault is removed."""


_EITHER: dict[Flow, float] = {"to_upstream": HELD_S, "to_client": HELD_S}
CASES = {
    "latency": Case(Latency(mean_ms=HELD_S * 1000), "whole", _EITHER),
    "jitter": Case(Jitter(amplitude_ms=5), "whole", {}),
    "bandwidth": Case(Bandwidth(rate=1, unit="MBps"), "whole", {"to_client": len(ANSWER) / 1e6}),
    # Every segment is lost 16 times, and each time the timer doubles.
    "packet_loss": Case(PacketLoss(rate=1, rto_ms=0.0005, rtt_ms=0), "whole", _EITHER),
    "blackhole": Case(Blackhole(), "silent", {}, afterwards="whole"),
    "blackhole discard": Case(Blackhole(mode="discard"), "silent", {}, afterwards="closed"),
    "reset": Case(Reset(), "reset", {}),
    "reset on data": Case(Reset(on="data"), "reset", {}),
    "half_open": Case(HalfOpen(), "silent", {}, afterwards="closed"),
    "slow_close": Case(SlowClose(delay_ms=HELD_S * 1000), "whole", _EITHER, flows=("to_client",)),
    "limit_data": Case(LimitData(bytes=10), "closed", {}),
    "slicer": Case(Slicer(average_bytes=100), "whole", {}),
    "timeout": Case(Timeout(timeout_ms=HELD_S * 1000), "closed", _EITHER),
    "corrupt": Case(Corrupt(rate=1), "altered", {}),
}
STREAM_FAULTS = {kind: fault for kind, fault in NETWORK_FAULTS.items() if issubclass(fault, StreamFault)}
# A fault that loses nothing needs no case of its own: with its defaults, everything arrives.
CASES |= {
    kind: Case(fault(), "whole", {})
    for kind, fault in STREAM_FAULTS.items()
    if kind not in {case.fault.kind for case in CASES.values()}
    and not (fault().loses_bytes or fault().withholds_end)
}
MATCHES = [
    Match(side=side, direction=direction) for side, direction in product(get_args(Side), get_args(Direction))
]


Combination = tuple[str, str, Match]
"""A name of `CASES`, a name of `ROUTES`, and a match."""


def usual_combinations() -> set[Combination]:
    """Return a selection that has every fault on every route, and both with every match.

    A Latin square: counting on through the matches, by one for the next route and by one for the next fault,
    reaches each match on each row and in each column, since there are at least as many routes and faults.
    """
    return {
        (name, route, MATCHES[(row + column) % len(MATCHES)])
        for row, name in enumerate(CASES)
        for column, route in enumerate(ROUTES)
    }


USUAL = usual_combinations()
COMBINATIONS = [
    pytest.param(
        *each,
        id=f"{each[0]}-{each[1]}-{each[2].side} {each[2].direction}",
        marks=() if each in USUAL else pytest.mark.thorough,
    )
    for each in product(CASES, ROUTES, MATCHES)
]


def test_every_stream_fault_is_among_the_cases() -> None:
    assert {case.fault.kind for case in CASES.values()} == STREAM_FAULTS.keys()


def test_the_usual_run_has_every_pair_of_fault_route_and_match() -> None:
    for first, second in combinations(range(3), 2):
        every = {(each[first], each[second]) for each in product(CASES, ROUTES, MATCHES)}
        assert {(each[first], each[second]) for each in USUAL} == every


# --- the matrix ---------------------------------------------------------------------------------


def read_to_the_end(client: socket.socket) -> bytes:
    """Read until the end. A TimeoutError means that the client got no end."""
    received = b""
    while piece := client.recv(65536):
        received += piece
    return received


def effect_of(received: bytes, sent: bytes | None) -> Effect:
    """Return the effect seen in an exchange that ended in good order."""
    received = received.removeprefix(ESTABLISHED)
    if received == ANSWER:
        return "whole" if sent == SENT else "altered"
    return "closed" if ANSWER.startswith(received) else "altered"


@pytest.mark.parametrize(("name", "route", "match"), COMBINATIONS)
def test_the_client_sees_the_effect_and_it_is_counted(
    servers: dict[bool, Server], name: str, route: str, match: Match
) -> None:
    case, way = CASES[name], ROUTES[route]
    server = servers[route.endswith("TLS")]
    path = f"/{name}/{match.side}/{match.direction}/{route}".replace(" ", "-")
    acts = set(match.flows) & set(case.flows)
    with Plane(Plan((Rule("it", case.fault, match), NEVER), 7)) as plane:
        proxy = plane.open_proxy(way.over(server.endpoint))

        def injected() -> int:
            return plane.snapshot().injected["it"]

        begin = time.monotonic()
        heard, effect = b"", case.effect
        try:
            with connect(proxy) as client:
                client.sendall(way.ask(path, server.endpoint))
                if acts and case.effect == "silent":
                    while not injected():
                        assert time.monotonic() - begin < PATIENCE_S, "nothing was counted"
                    heard = what_is_there(client)
                    assert heard in (b"", ESTABLISHED)
                    plane.set_plan(Plan((NEVER,), 7))
                effect = effect_of(heard + read_to_the_end(client), server.seen.get(path))
        except (ConnectionResetError, BrokenPipeError):
            effect = "reset"
        took_s = time.monotonic() - begin
        if not acts:
            assert effect == "whole"
            return
        assert effect in expected(case, route)
        assert injected() >= 1
        assert took_s >= max(case.least_s.get(flow, 0.0) for flow in acts)


def what_is_there(client: socket.socket) -> bytes:
    """Return what can be read now; an end is an error."""
    client.setblocking(False)
    try:
        there = client.recv(65536)
        assert there, "it ended, and should be silent"
    except BlockingIOError:
        there = b""
    client.settimeout(PATIENCE_S)
    return there


def expected(case: Case, route: str) -> tuple[Effect, ...]:
    if case.effect == "altered" and route != "tcp map":
        # Heads that cannot be read are refused, and so are records; what else is hit arrives altered.
        return ("altered", "closed", "reset")
    return (case.afterwards or case.effect,)
