"""Links with TLS or HTTP in the middle, where order, ends and memory are hardest to keep."""

import gc
import http.client
import logging
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
import trustme

from faultkit.base.address import Endpoint, UpstreamSet, parse_map
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.http import HttpExchange
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import DialFailed
from tests.proxy.origin import serving
from tests.proxy.wires import (
    LOOPBACK,
    PATIENCE_S,
    connect,
    endpoint_of,
    joined,
    listening,
    plan_of,
    read_all,
    read_exactly,
)

ANY_PORT = Endpoint(LOOPBACK, 0)
FORWARD = ProxySpec("http", ANY_PORT, broken=UpstreamSet.parse(["*"]))


@pytest.fixture(autouse=True)
def nothing_fails_inside(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """An exception in the data plane is a defect even where the client does not notice."""
    with caplog.at_level(logging.ERROR, "faultkit"):
        yield
    assert [record.getMessage() for record in caplog.records if record.name.startswith("faultkit")] == []


@pytest.fixture
def tls_server() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    return context


@pytest.mark.parametrize("how", ["inline", "forward", "tunnel"])
def test_the_memory_of_a_connection_is_free_without_a_garbage_collection(how: str) -> None:
    gc.collect()
    gc.freeze()  # `gc.get_objects` leaves out what is here already.
    gc.disable()
    try:
        with serving() as origin, Plane(Plan()) as plane:
            inline = ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http", rewrite_host=True)
            proxy = plane.open_proxy(inline if how == "inline" else FORWARD)
            for _ in range(3):
                client = http.client.HTTPConnection(proxy.host, proxy.port, timeout=PATIENCE_S)
                if how == "tunnel":
                    client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
                client.request("GET", f"http://{origin.endpoint}/" if how == "forward" else "/")
                assert client.getresponse().read() == b"GET / 0"
                client.close()
            until = time.monotonic() + PATIENCE_S
            while any(type(each) is HttpExchange for each in gc.get_objects()) and time.monotonic() < until:
                time.sleep(0.01)
            assert [each for each in gc.get_objects() if type(each) is HttpExchange] == []
    finally:
        gc.enable()
        gc.unfreeze()


def tls_spec(listener: socket.socket) -> ProxySpec:
    return ProxySpec("tls", ANY_PORT, endpoint_of(listener), tls=True, verify=False)


def test_a_half_close_before_the_handshake_is_done_loses_nothing(tls_server: ssl.SSLContext) -> None:
    with listening() as listener, Plane() as plane:
        proxy = plane.open_proxy(tls_spec(listener))
        with connect(proxy) as client:
            client.sendall(b"the question")
            client.shutdown(socket.SHUT_WR)
            raw, _ = listener.accept()
            raw.settimeout(PATIENCE_S)
            with tls_server.wrap_socket(raw, server_side=True, suppress_ragged_eofs=True) as server:
                assert read_exactly(server, 12) == b"the question"
                server.sendall(b"the answer")
                server.unwrap()
            assert read_all(client) == b"the answer"


def test_an_upstream_that_never_shakes_hands_pushes_back() -> None:
    with listening() as listener, Plane() as plane, connect(plane.open_proxy(tls_spec(listener))) as client:
        server, _ = listener.accept()
        client.settimeout(0.3)
        sent = 0
        with server, pytest.raises(TimeoutError):
            while sent < 200_000_000:
                sent += client.send(bytes(1 << 16))


def test_a_clear_text_upstream_is_told_as_a_failed_dial() -> None:
    with listening() as listener, Plane(observed=True) as plane:
        with pytest.raises(ConnectionResetError), connect(plane.open_proxy(tls_spec(listener))) as client:
            server, _ = listener.accept()
            with server:
                server.sendall(b"220 hello, I speak no TLS\r\n")
                client.recv(1)
        assert plane.snapshot().proxies[0].dial_failures == 1


SSL_REQUEST = bytes.fromhex("0000000804d2162f")
GSS_REQUEST = bytes.fromhex("0000000804d21630")


def psqls_spec(listener: socket.socket) -> ProxySpec:
    given = parse_map(f"0=psqls://127.0.0.1:{endpoint_of(listener).port}")
    return replace(ProxySpec.of_map("db", given), verify=False)


@pytest.mark.parametrize("asked", [b"", SSL_REQUEST, GSS_REQUEST + SSL_REQUEST])
def test_a_postgresql_server_is_asked_for_tls_and_its_client_is_refused_it(
    asked: bytes, tls_server: ssl.SSLContext
) -> None:
    with listening() as listener, Plane() as plane, connect(plane.open_proxy(psqls_spec(listener))) as client:
        raw, _ = listener.accept()
        raw.settimeout(PATIENCE_S)
        assert read_exactly(raw, 8) == SSL_REQUEST
        for start in range(0, len(asked), 8):
            client.sendall(asked[start : start + 3])
            client.sendall(asked[start + 3 : start + 8])
            assert read_exactly(client, 1) == b"N"
        client.sendall(b"\0\0\0\x08startup")
        raw.sendall(b"S")
        with tls_server.wrap_socket(raw, server_side=True, suppress_ragged_eofs=True) as server:
            assert read_exactly(server, 11) == b"\0\0\0\x08startup"
            server.sendall(b"R")
            assert read_exactly(client, 1) == b"R"
            client.shutdown(socket.SHUT_WR)
            assert server.recv(1) == b""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"N", "TLS: the server does not offer it (its answer to SSLRequest is N)"),
        (b"Sx", "TLS: expected S or N as the answer to SSLRequest, got b'Sx'"),
        (b"", "TLS: the upstream ended the connection during the handshake"),
    ],
)
def test_a_postgresql_server_without_tls_is_told_as_a_failed_dial(answer: bytes, why: str) -> None:
    with listening() as listener, Plane(observed=True) as plane:
        with pytest.raises(ConnectionResetError), connect(plane.open_proxy(psqls_spec(listener))) as client:
            server, _ = listener.accept()
            with server:
                assert read_exactly(server, 8) == SSL_REQUEST
                server.sendall(answer)
                server.shutdown(socket.SHUT_WR)
                client.recv(1)
        assert [event.why for event in plane.take_events() if isinstance(event, DialFailed)] == [why]


def test_a_body_that_a_fault_cuts_up_keeps_its_order_through_the_forward_proxy() -> None:
    rule = Rule("cut", Slicer(average_bytes=64), Match(side="client"))
    body = b"".join(number.to_bytes(4, "big") for number in range(40_000))
    with listening() as origin, Plane(Plan((rule,), 1)) as plane:
        client = http.client.HTTPConnection(*_pair(plane.open_proxy(FORWARD)), timeout=PATIENCE_S)
        received: list[bytes] = []

        def serve() -> None:
            server, _ = origin.accept()
            with server:
                server.settimeout(PATIENCE_S)
                data = b""
                while b"\r\n\r\n" not in data:
                    data += server.recv(65536)
                _, _, rest = data.partition(b"\r\n\r\n")
                received.append(rest + read_exactly(server, len(body) - len(rest)))
                server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        client.request("POST", f"http://{endpoint_of(origin)}/", body)
        assert client.getresponse().status == 200
        thread.join()
        client.close()
        assert received == [body]


def test_what_is_left_of_one_request_never_reaches_another_origin() -> None:
    with listening() as first, listening() as second, Plane() as plane:
        with connect(plane.open_proxy(FORWARD)) as client:
            head = f"POST http://{endpoint_of(first)}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
            client.sendall(head.encode() + b"12345")
            one, _ = first.accept()
            with one:
                one.settimeout(PATIENCE_S)
                while b"12345" not in one.recv(65536):
                    pass
                one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA")
                assert client.recv(65536).endswith(b"A")
                client.sendall(f"67890GET http://{endpoint_of(second)}/ HTTP/1.1\r\nHost: b\r\n\r\n".encode())
                two, _ = second.accept()
                with two:
                    two.settimeout(PATIENCE_S)
                    request = two.recv(65536)
                    assert request.startswith(b"GET / HTTP/1.1\r\n")
                    assert request.endswith(b"\r\n\r\n")


def test_answers_of_two_origins_come_in_order_under_latency() -> None:
    rule = Rule("slow", Latency(mean_ms=20, per="operation"))
    with serving() as one, serving() as two, Plane(Plan((rule,), 1)) as plane:
        with connect(plane.open_proxy(FORWARD)) as client:
            for origin in (one, two):
                client.sendall(f"GET http://{origin.endpoint}/x HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            answers = b""
            while answers.count(b"GET /x 0") < 2:
                answers += client.recv(65536)
            assert answers.count(b"HTTP/1.1 200") == 2


def test_a_client_that_resets_an_idle_forward_connection_is_forgotten() -> None:
    with Plane() as plane:
        proxy = plane.open_proxy(FORWARD)
        for _ in range(10):
            client = connect(proxy)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        deadline = time.monotonic() + PATIENCE_S
        while plane.snapshot().proxies[0].accepted < 10 or plane.snapshot().proxies[0].live:
            assert time.monotonic() < deadline, plane.snapshot()


def test_a_reset_fault_reaches_a_forward_client_that_has_no_upstream_yet() -> None:
    rule = Rule("cut", Reset(), Match(side="client"))
    with Plane(Plan((rule,), 1)) as plane:
        with pytest.raises(ConnectionResetError), connect(plane.open_proxy(FORWARD)) as client:
            client.recv(1)


def test_a_fault_of_the_server_side_begins_anew_with_each_upstream() -> None:
    rule = Rule("late", Latency(mean_ms=1))
    with serving() as one, serving() as two, Plane(Plan((rule,), 1)) as plane:
        client = http.client.HTTPConnection(*_pair(plane.open_proxy(FORWARD)), timeout=PATIENCE_S)
        for origin, injected in ((one, 1), (one, 1), (two, 2), (one, 3)):
            client.request("GET", f"http://{origin.endpoint}/")
            assert client.getresponse().read() == b"GET / 0"
            assert plane.snapshot().injected == {"late": injected}
        client.close()


def test_a_reset_of_one_upstream_spares_the_others_of_the_same_client() -> None:
    with serving() as whole, serving() as broken, Plane(Plan((Rule("cut", Reset()),), 1)) as plane:
        spec = ProxySpec("http", ANY_PORT, broken=UpstreamSet.parse([str(broken.endpoint)]))
        client = http.client.HTTPConnection(*_pair(plane.open_proxy(spec)), timeout=PATIENCE_S)
        client.request("GET", f"http://{whole.endpoint}/")
        assert client.getresponse().read() == b"GET / 0"
        client.request("GET", f"http://{broken.endpoint}/")
        with pytest.raises(ConnectionResetError):
            client.getresponse()
        client.close()
        assert plane.snapshot().injected == {"cut": 1}


def test_a_reset_fault_during_the_handshake_is_a_reset_and_no_failed_dial(
    tls_server: ssl.SSLContext,
) -> None:
    with serving(tls_server) as origin, Plane(Plan((Rule("cut", Reset(on="data")),), 1)) as plane:
        spec = ProxySpec("http", ANY_PORT, verify=False)
        client = http.client.HTTPConnection(*_pair(plane.open_proxy(spec)), timeout=PATIENCE_S)
        with pytest.raises(ConnectionResetError):
            client.request("GET", f"https://{origin.endpoint}/")
            client.getresponse()
        client.close()
        seen = plane.snapshot()
        assert (seen.injected, seen.proxies[0].dial_failures) == ({"cut": 1}, 0)


def test_an_upstream_that_resets_during_the_handshake_is_a_failed_dial() -> None:
    with listening() as listener, Plane() as plane:
        spec = ProxySpec("http", ANY_PORT, verify=False)
        client = http.client.HTTPConnection(*_pair(plane.open_proxy(spec)), timeout=PATIENCE_S)
        client.request("GET", f"https://{endpoint_of(listener)}/")
        server, _ = listener.accept()
        server.settimeout(PATIENCE_S)
        assert server.recv(1) == b"\x16"
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.close()
        assert client.getresponse().status == 502
        client.close()
        counts = plane.snapshot().proxies[0]
        assert (counts.dial_failures, counts.own_answers) == (1, 1)


def test_a_request_that_names_the_proxy_itself_is_refused_and_not_dialled() -> None:
    with Plane() as plane:
        proxy = plane.open_proxy(FORWARD)
        for host in (str(proxy), f"localhost:{proxy.port}"):
            client = http.client.HTTPConnection(*_pair(proxy), timeout=PATIENCE_S)
            client.request("GET", "/", headers={"Host": host})
            response = client.getresponse()
            assert (response.status, b"this proxy itself" in response.read()) == (502, True)
            client.close()
        assert plane.snapshot().proxies[0].accepted == 2


def test_many_pipelined_requests_to_nowhere_are_all_answered() -> None:
    with Plane() as plane, connect(plane.open_proxy(FORWARD)) as client:
        request = b"GET http://255.255.255.255:9/ HTTP/1.1\r\nHost: h\r\n\r\n"
        client.sendall(request * 300)
        answers = b""
        while answers.count(b"HTTP/1.1 502") < 300:
            answers += client.recv(1 << 20)


def test_answers_that_a_client_does_not_read_do_not_pile_up() -> None:
    rule = Rule("broken", HttpError(status=500, body="x" * 1000))
    with serving() as origin, Plane(Plan((rule,), 1)) as plane:
        spec = ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http")
        with connect(plane.open_proxy(spec)) as client:
            client.settimeout(0.3)
            request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 500
            with pytest.raises(TimeoutError):
                for _ in range(3000):
                    client.sendall(request)
            assert plane.snapshot().held_bytes < 50_000_000


def test_bytes_that_come_after_a_paced_burst_are_not_taken_for_old_ones() -> None:
    """After a burst of full reads, a dry socket looks like a full one."""
    plan = plan_of(Bandwidth(rate=1, unit="MBps"), Latency(mean_ms=100, per="operation"))
    with joined(plan) as (_, client, server):
        server.sendall(bytes(50_000))
        read_exactly(client, 50_000)
        began = time.monotonic()
        server.sendall(b"later")
        read_exactly(client, 5)
        assert time.monotonic() - began >= 0.1


def test_the_budget_is_given_back_when_the_last_fault_goes() -> None:
    with joined(plan_of(Latency(mean_ms=50, per="operation"))) as (wire, client, server):
        server.sendall(bytes(3_000_000))
        wire.plane.set_plan(Plan())
        read_exactly(client, 3_000_000)
        assert wire.plane.snapshot().held_bytes == 0


def test_injections_of_a_rule_that_is_gone_still_count() -> None:
    with joined(plan_of(Latency(mean_ms=1))) as (wire, client, server):
        server.sendall(b"x")
        read_exactly(client, 1)
        wire.plane.set_plan(Plan())
        assert wire.plane.snapshot().injected == {"0-latency": 1}


def _pair(endpoint: Endpoint) -> tuple[str, int]:
    return endpoint.host, endpoint.port
