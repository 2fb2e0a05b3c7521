"""The engine over TLS, and through proxies: our own ones, with real faults."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path

import pytest
import trustme

from faultkit.base.address import Endpoint
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.reset import Reset
from faultkit.load.engine import Engine
from faultkit.load.load import Target
from faultkit.load.response import Failure
from faultkit.load.route import route_of
from faultkit.load.segment import call_once
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.plane import Plane
from faultkit.proxy.tls import tls_context
from tests.load.servers import OK, PATIENCE_S, in_turn, read_request, reset, serving, twice
from tests.proxy.origin import serving as serving_http

ANY_PORT = Endpoint("127.0.0.1", 0)


@pytest.fixture
def authority(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[trustme.CA]:
    """A certificate authority that this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    tls_context.cache_clear()
    yield authority
    tls_context.cache_clear()


def context_for(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@contextmanager
def forward_proxy(*rules: Rule) -> Iterator[Endpoint]:
    with Plane(Plan(rules, 1)) as plane:
        yield plane.open_proxy(ProxySpec("forward", ANY_PORT, speaks="http"))


def over_tls(port: int, name: str = "localhost", **more: object) -> Target:
    return Target("GET", f"https://{name}:{port}/secret", timeout_s=5.0, **more)  # type: ignore[arg-type]


def test_tls_has_its_own_part_and_connections_are_kept(authority: trustme.CA) -> None:
    with serving_http(context_for(authority, "localhost")) as origin:
        rows = in_turn(over_tls(origin.endpoint.port), 3)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 3
    assert 0 < rows[0].connect_s < rows[0].connect_s + rows[0].tls_s < rows[0].total_s
    assert [isnan(row.tls_s) for row in rows] == [False, True, True]
    assert {path for _, path, _ in origin.seen} == {"/secret"}


def test_a_large_body_and_a_large_answer_in_tls(authority: trustme.CA) -> None:
    context = context_for(authority, "localhost")
    body = bytes(range(256)) * 8000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + bytes(3_000_000)
    seen = []

    def serve(connection: socket.socket, number: int) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            seen.append(read_request(secure))
            secure.sendall(answer)

    with serving(serve) as server:
        target = Target("POST", f"https://localhost:{server.port}/", body=body, timeout_s=5.0)
        sample = call_once(target)
    assert (sample.status, sample.failure, sample.received) == (200, 0, len(answer))
    assert seen[0].endswith(body)


@pytest.mark.parametrize("last_word", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"])
def test_a_tls_stream_that_ends_early(authority: trustme.CA, last_word: bytes) -> None:
    context = context_for(authority, "localhost")

    def serve(connection: socket.socket, number: int) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            read_request(secure)
            secure.sendall(last_word)

    with serving(serve) as server:
        assert call_once(over_tls(server.port)).failure == Failure.CLOSED


@pytest.mark.parametrize(
    ("says_farewell", "status", "failure"), [(True, 200, Failure.NONE), (False, 0, Failure.CLOSED)]
)
def test_an_answer_without_a_length_ends_with_the_farewell_of_tls_and_not_without_it(
    authority: trustme.CA, says_farewell: bool, status: int, failure: Failure
) -> None:
    context = context_for(authority, "localhost")

    def serve(connection: socket.socket, number: int) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            read_request(secure)
            secure.sendall(b"HTTP/1.1 200 OK\r\n\r\nall there is, or half of it")
            if says_farewell:
                secure.unwrap()

    with serving(serve) as server:
        sample = call_once(over_tls(server.port))
    assert (sample.status, sample.failure) == (status, failure)


class Records:
    """The server's end of TLS; the test decides which records are sent together."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def shake(self) -> None:
        """Do the handshake, but do not send its last records yet."""
        while True:
            try:
                self.tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                self.send()
                self._receive()

    def read_request(self) -> None:
        data = b""
        while not data.endswith(b"\r\n\r\n"):
            try:
                data += self.tls.read()
            except ssl.SSLWantReadError:
                self._receive()

    def send(self) -> None:
        self._connection.sendall(self._outgoing.read())

    def _receive(self) -> None:
        data = self._connection.recv(65536)
        if not data:
            raise ConnectionError
        self._incoming.write(data)


def test_a_connection_on_which_farewell_was_said_gets_no_second_request(authority: trustme.CA) -> None:
    context = context_for(authority, "localhost")
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        records = Records(connection, context)
        records.shake()
        records.send()
        records.read_request()
        records.tls.write(OK)
        with contextlib.suppress(ssl.SSLWantReadError):  # It also waits for the other side's close_notify.
            records.tls.unwrap()
        records.send()
        while connection.recv(65536):
            pass  # The connection below stays.

    with serving(serve) as server:
        rows = in_turn(over_tls(server.port), 2)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 2
    assert connections == [0, 1]


def test_an_answer_that_comes_with_the_end_of_the_handshake_counts_though_a_reset_follows(
    authority: trustme.CA,
) -> None:
    """The client reads when everything has arrived: end of the handshake, answer and reset."""
    context = context_for(authority, "localhost")
    context.maximum_version = (
        ssl.TLSVersion.TLSv1_2
    )  # In this version the server sends the last handshake record.
    is_shaken, looks_away, is_gone = threading.Event(), threading.Event(), threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        records = Records(connection, context)
        records.shake()
        is_shaken.set()
        looks_away.wait(PATIENCE_S)
        records.tls.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        records.send()
        reset(connection)
        is_gone.set()

    class Asker:
        def over(self, now: float) -> None:
            loop.stop()

        def look_away(self) -> None:
            if is_shaken.is_set():
                looks_away.set()
                is_gone.wait(PATIENCE_S)
            else:
                loop.call_soon(self.look_away, None)

    with serving(serve) as server:
        loop = Loop()
        engine = Engine(route_of(over_tls(server.port)), loop, loop.clock())
        asker = Asker()
        engine.ask(asker, None)
        loop.call_soon(asker.look_away, None)
        engine.run()
        rows = list(engine.take_samples())
        engine.close()
        loop.close()
    assert [(row.status, row.failure) for row in rows] == [(503, Failure.STATUS)]


def test_records_that_nobody_can_read_end_an_idle_connection(authority: trustme.CA) -> None:
    context = context_for(authority, "localhost")
    connections = []
    first_is_over, junk_is_there = threading.Event(), threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        records = Records(connection, context)
        records.shake()
        records.send()
        records.read_request()
        records.tls.write(OK)
        records.send()
        if number == 0:
            first_is_over.wait(PATIENCE_S)
            connection.sendall(b"HTTP/1.1 408 Timeout\r\n\r\n")
            junk_is_there.set()
        while connection.recv(65536):
            pass

    with serving(serve) as server:
        rows = twice(over_tls(server.port), first_is_over, junk_is_there)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 2
    assert connections == [0, 1]


def test_a_certificate_that_nobody_trusts_is_a_failure_of_tls() -> None:
    with serving_http(context_for(trustme.CA(), "localhost")) as origin:
        strict = call_once(over_tls(origin.endpoint.port))
        lenient = call_once(over_tls(origin.endpoint.port, verify=False))
    assert (strict.failure, lenient.failure) == (Failure.TLS, Failure.NONE)
    assert isnan(strict.tls_s)
    assert not isnan(strict.connect_s)


def test_a_certificate_for_another_name_is_a_failure_of_tls(authority: trustme.CA) -> None:
    with serving_http(context_for(authority, "elsewhere.example")) as origin:
        assert call_once(over_tls(origin.endpoint.port)).failure == Failure.TLS


def test_an_address_in_place_of_a_name_is_checked_as_such(authority: trustme.CA) -> None:
    with serving_http(context_for(authority, "127.0.0.1")) as origin:
        assert call_once(over_tls(origin.endpoint.port, "127.0.0.1")).failure == Failure.NONE


def test_a_server_that_does_not_speak_tls() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with serving(serve) as server:
        assert call_once(over_tls(server.port)).failure == Failure.TLS


def test_the_server_is_told_the_name(authority: trustme.CA) -> None:
    names = []
    context = context_for(authority, "localhost")
    context.sni_callback = lambda _, name, __: names.append(name)
    with serving_http(context) as origin:
        call_once(over_tls(origin.endpoint.port))
    assert names == ["localhost"]


# --- proxies --------------------------------------------------------------------------------------


def test_plain_requests_through_a_forward_proxy_on_kept_connections() -> None:
    with serving_http() as origin, forward_proxy() as proxy:
        target = Target("GET", f"http://{origin.endpoint}/through", proxy=proxy)
        rows = in_turn(target, 3)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 3
    assert origin.seen == [("GET", "/through", str(origin.endpoint))] * 3


def test_a_fault_of_the_proxy_is_seen() -> None:
    rule = Rule("broken", HttpError(status=503), Match())
    with serving_http() as origin, forward_proxy(rule) as proxy:
        sample = call_once(Target("GET", f"http://{origin.endpoint}/", proxy=proxy))
    assert (sample.status, sample.failure) == (503, Failure.STATUS)


def test_https_through_a_tunnel(authority: trustme.CA) -> None:
    with serving_http(context_for(authority, "localhost")) as origin, forward_proxy() as proxy:
        rows = in_turn(over_tls(origin.endpoint.port, proxy=proxy), 3)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 3
    assert rows[0].connect_s > 0
    assert rows[0].tls_s > 0
    assert origin.seen == [("GET", "/secret", f"localhost:{origin.endpoint.port}")] * 3


def test_a_proxy_that_grants_no_tunnel(closed_port: int) -> None:
    with forward_proxy() as proxy:
        sample = call_once(over_tls(closed_port, proxy=proxy))
    assert (sample.status, sample.failure) == (0, Failure.REFUSED)


def test_a_proxy_that_speaks_no_http() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(1000)
        connection.sendall(b"what?\r\n\r\n")

    with serving(serve) as proxy:
        assert call_once(over_tls(443, proxy=proxy)).failure == Failure.PROTOCOL


def test_a_proxy_that_ends_the_connection_instead_of_granting_the_tunnel() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(1000)

    with serving(serve) as proxy:
        assert call_once(over_tls(443, proxy=proxy)).failure == Failure.CLOSED


def test_another_place_to_connect_to_speaks_for_the_origin(authority: trustme.CA) -> None:
    with serving_http(context_for(authority, "localhost")) as origin, Plane() as plane:
        spec = ProxySpec("inline", ANY_PORT, Endpoint("localhost", origin.endpoint.port), tls=True)
        inline = plane.open_proxy(spec)
        sample = call_once(over_tls(origin.endpoint.port, connect_to=inline))
    assert (sample.status, sample.failure) == (200, Failure.NONE)
    assert isnan(sample.tls_s)
    assert origin.seen == [("GET", "/secret", f"localhost:{origin.endpoint.port}")]


def test_a_reset_by_the_proxy_on_a_kept_connection_is_not_hidden_by_a_second_try() -> None:
    connections = []
    plans = iter([Plan(), Plan((Rule("cut", Reset(on="data"), Match(side="client")),), 1)])

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        while read_request(connection):
            connection.sendall(OK)

    with serving(serve) as origin, Plane() as plane:
        inline = plane.open_proxy(ProxySpec("inline", ANY_PORT, origin))
        target = Target("GET", f"http://{origin}/", connect_to=inline)
        rows = in_turn(target, 3, between=lambda: plane.set_plan(next(plans)))
    assert [row.failure for row in rows] == [Failure.NONE, Failure.NONE, Failure.RESET]
    assert connections == [0]
