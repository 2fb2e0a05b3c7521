"""A real server on a port of its own, a plain HTTP client for it, and both ends of a proxied connection."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from faultkit.base.address import Endpoint
from faultkit.proxy.toxiproxy.toxiproxy_server import ToxiproxyServer

PATIENCE_S = 20.0
SILENCE_S = 0.2
"""Seconds after which a test takes it that nothing arrives."""


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    content_type: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Api:
    endpoint: Endpoint

    def call(
        self, method: str, path: str, document: Any = None, raw: bytes | None = None, **headers: str
    ) -> Reply:
        connection = HTTPConnection(self.endpoint.host, self.endpoint.port, timeout=PATIENCE_S)
        body = raw if raw is not None else None if document is None else json.dumps(document).encode()
        try:
            connection.request(
                method, path, body, {key.replace("_", "-"): value for key, value in headers.items()}
            )
            response = connection.getresponse()
            return Reply(response.status, response.read(), response.getheader("content-type") or "")
        finally:
            connection.close()

    def ok(self, method: str, path: str, document: Any = None) -> Any:
        reply = self.call(method, path, document)
        assert reply.status in (200, 201, 204), reply
        return reply.json if reply.body else None

    def add_toxic(
        self, type: str, stream: str = "downstream", toxicity: float = 1.0, **attributes: Any
    ) -> Any:
        document = {"type": type, "stream": stream, "toxicity": toxicity, "attributes": attributes}
        return self.ok("POST", "/proxies/wire/toxics", document)


@contextmanager
def serving(seed: int = 7, host: str = "localhost") -> Iterator[Api]:
    server = ToxiproxyServer(host, 0, seed)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Api(server.endpoint)
    finally:
        server.stop()
        thread.join()
        server.close()


def address_of(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def connect(listen: str) -> socket.socket:
    sock = socket.create_connection(address_of(listen), timeout=PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


@contextmanager
def upstream() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        yield listener


def text_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"{host}:{port}"


@dataclass(frozen=True)
class Wire:
    """A server that has one proxy, `wire`, and the listener behind it."""

    api: Api
    listen: str
    upstream: socket.socket

    @contextmanager
    def joined(self) -> Iterator[tuple[socket.socket, socket.socket]]:
        """The client's and the upstream's socket of one new connection."""
        with connect(self.listen) as client:
            server, _ = self.upstream.accept()
            with server:
                server.settimeout(PATIENCE_S)
                yield client, server


@contextmanager
def wired_on(api: Api) -> Iterator[Wire]:
    """Open the proxy `wire` on a running server, which has no proxies afterwards."""
    with upstream() as listener:
        proxy = api.ok("POST", "/proxies", {"name": "wire", "upstream": text_of(listener)})
        try:
            yield Wire(api, proxy["listen"], listener)
        finally:
            for name in api.ok("GET", "/proxies"):
                api.ok("DELETE", f"/proxies/{name}")


@contextmanager
def wired() -> Iterator[Wire]:
    """Start a server of its own, whose seed has decided nothing yet, and open the proxy `wire` on it."""
    with serving() as api, wired_on(api) as wire:
        yield wire


def read_exactly(sock: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        piece = sock.recv(size - len(got))
        assert piece, f"the stream ended after {len(got)} of {size} bytes"
        got += piece
    return got


def read_all(sock: socket.socket) -> bytes:
    got = b""
    while piece := sock.recv(65536):
        got += piece
    return got


def is_silent(sock: socket.socket) -> bool:
    """Whether neither bytes nor an end come for a while."""
    sock.settimeout(SILENCE_S)
    try:
        sock.recv(1)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(PATIENCE_S)
    return False


def seen_by(sock: socket.socket, patience_s: float = PATIENCE_S) -> str:
    """Return what a client reads next: bytes, EOF, the name of the error, or silence."""
    sock.settimeout(patience_s)
    try:
        piece = sock.recv(65536)
    except TimeoutError:
        return "silence"
    except ConnectionResetError:
        return "ECONNRESET"
    finally:
        sock.settimeout(PATIENCE_S)
    return repr(piece) if piece else "EOF"


def send_if_open(sock: socket.socket, payload: bytes) -> None:
    """A toxic may have ended the connection by now."""
    with suppress(ConnectionError):
        sock.sendall(payload)
