"""Real sockets with a real proxy between them; the test holds both ends."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from faultkit.base.address import Endpoint
from faultkit.faults.fault import Fault
from faultkit.plan import Match, Plan, Rule, Trigger
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.event_loop import Poller
from faultkit.proxy.plane import Plane

PATIENCE_S = 20.0
LOOPBACK = "127.0.0.1"

BOTH = Match(direction="both")
TO_CLIENT = Match()
TO_UPSTREAM = Match(side="client")


def plan_of(*faults: Fault, match: Match = TO_CLIENT, trigger: Trigger | None = None, seed: int = 7) -> Plan:
    """One rule a fault, named by number and kind."""
    rules = (
        Rule(f"{number}-{fault.kind}", fault, match, trigger or Trigger())
        for number, fault in enumerate(faults)
    )
    return Plan(tuple(rules), seed)


def connect(endpoint: Endpoint) -> socket.socket:
    sock = socket.create_connection((endpoint.host, endpoint.port), timeout=PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


@contextmanager
def listening(host: str = LOOPBACK) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family, backlog=1024) as listener:
        listener.settimeout(PATIENCE_S)
        yield listener


def endpoint_of(listener: socket.socket) -> Endpoint:
    host, port = listener.getsockname()[:2]
    return Endpoint(host, port)


@dataclass
class Wire:
    """A proxy with a listener behind it that the test accepts on."""

    plane: Plane
    proxy: Endpoint
    upstream: socket.socket

    def join(self) -> tuple[socket.socket, socket.socket]:
        """A client's socket and the upstream's socket of one new connection."""
        client = connect(self.proxy)
        server, _ = self.upstream.accept()
        server.settimeout(PATIENCE_S)
        return client, server


@contextmanager
def wired(plan: Plan | None = None, poller: Poller | None = None, observed: bool = False) -> Iterator[Wire]:
    with listening() as upstream, Plane(plan, poller=poller, observed=observed) as plane:
        proxy = plane.open_proxy(ProxySpec("wire", Endpoint(LOOPBACK, 0), endpoint_of(upstream)))
        yield Wire(plane, proxy, upstream)


@contextmanager
def joined(
    plan: Plan | None = None, poller: Poller | None = None
) -> Iterator[tuple[Wire, socket.socket, socket.socket]]:
    with wired(plan, poller) as wire:
        client, server = wire.join()
        with client, server:
            yield wire, client, server


def read_all(sock: socket.socket) -> bytes:
    """Read until the end of the stream."""
    pieces = []
    while piece := sock.recv(1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def read_exactly(sock: socket.socket, size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = sock.recv(min(size, 1 << 20))
        assert piece, f"the stream ended {size} bytes too early"
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def send_hashed(sock: socket.socket, total: int) -> threading.Thread:
    """Send `total` bytes that do not repeat within a chunk, then half-close, in a thread of its own."""

    def send() -> None:
        block = hashlib.sha256(b"block").digest() * 8192
        left = total
        while left:
            piece = block[: min(left, len(block))]
            sock.sendall(piece)
            left -= len(piece)
        sock.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def expected_digest(total: int) -> str:
    block = hashlib.sha256(b"block").digest() * 8192
    digest = hashlib.sha256()
    left = total
    while left:
        digest.update(block[: min(left, len(block))])
        left -= min(left, len(block))
    return digest.hexdigest()


def received_digest(sock: socket.socket) -> str:
    digest = hashlib.sha256()
    buffer = bytearray(1 << 20)
    while size := sock.recv_into(buffer):
        digest.update(memoryview(buffer)[:size])
    return digest.hexdigest()
