"""TLS towards clients, with real clients and real servers."""

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
import trustme

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.faults.tls.tls_bad_certificate import TlsBadCertificate
from faultkit.faults.tls.tls_handshake_failure import TlsHandshakeFailure
from faultkit.faults.tls.tls_old_version import TlsOldVersion
from faultkit.faults.tls.tls_slow_handshake import TlsSlowHandshake
from faultkit.faults.tls.tls_truncated_close import TlsTruncatedClose
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Injected, Requested
from faultkit.proxy.tls import tls_context
from tests.proxy.origin import serving
from tests.proxy.proxied_http import ANY_PORT, get, proxied, troubles
from tests.proxy.tls_fronts import NAMES, client_of, front, listener, trusting
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening, read_all

Join: TypeAlias = Callable[[], tuple[ssl.SSLSocket, ssl.SSLSocket]]
"""Returns the sockets of the client and of the upstream of one new connection."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authority") / "ca"


def test_a_client_speaks_tls_and_its_upstream_clear_text(folder: Path) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (plane, proxy):
        for host in NAMES:
            client = client_of(proxy, folder, host)
            assert get(client, "/a") == (200, "GET /a 0")
            assert get(client, "/b", "POST", Expect="100-continue") == (200, "POST /b 0")
            client.close()
        assert troubles(plane) == []


def test_http_rules_act_inside_tls(folder: Path) -> None:
    rule = Rule("down", HttpError(status=503), Match(path="/broken"))
    with serving() as origin, proxied(front(origin, folder), rule) as (plane, proxy):
        client = client_of(proxy, folder)
        assert get(client, "/fine") == (200, "GET /fine 0")
        assert get(client, "/broken")[0] == 503
        assert get(client, "/fine") == (200, "GET /fine 0")
        client.close()
        assert plane.snapshot().injected == {"down": 1}
        assert plane.snapshot().proxies[0].requests == 3
        requests = [event.target for event in plane.take_events() if isinstance(event, Requested)]
        assert requests == ["/fine", "/broken", "/fine"]


@pytest.mark.parametrize("side", ["client", "server"])
def test_stream_rules_act_on_either_side(folder: Path, side: str) -> None:
    rule = Rule("late", Latency(mean_ms=1), Match(side=side, direction="both"))  # type: ignore[arg-type]
    with serving() as origin, proxied(front(origin, folder), rule) as (plane, proxy):
        client = client_of(proxy, folder)
        assert get(client, "/a") == (200, "GET /a 0")
        client.close()
        assert plane.snapshot().injected["late"] > 0


def test_much_data_passes_unchanged(folder: Path) -> None:
    sent = bytes(range(256)) * 8192
    with socket.create_server((LOOPBACK, 0)) as server:
        spec = ProxySpec(
            "raw", ANY_PORT, Endpoint(LOOPBACK, server.getsockname()[1]), client_tls=listener(folder)
        )
        with Plane(Plan()) as plane:
            proxy = plane.open_proxy(spec)
            with trusting(folder).wrap_socket(connect(proxy), server_hostname="localhost") as client:
                peer, _ = server.accept()
                with peer:
                    peer.settimeout(PATIENCE_S)
                    client.sendall(b"hello")
                    assert peer.recv(5) == b"hello"
                    peer.sendall(sent)
                    peer.shutdown(socket.SHUT_WR)
                    assert read_all(client) == sent
                    client.sendall(b"bye")  # Half of the connection lives on.
                    assert peer.recv(3) == b"bye"


def test_only_tls_1_2_and_1_3_are_spoken_with_good_ciphers(folder: Path) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (_, proxy):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = trusting(folder, "h2", "http/1.1")
            context.minimum_version = context.maximum_version = version
            with context.wrap_socket(connect(proxy), server_hostname="localhost") as client:
                assert client.selected_alpn_protocol() == "http/1.1"
                cipher = client.cipher()
                assert cipher is not None
                assert "GCM" in cipher[0] or "CHACHA20" in cipher[0]
        old = trusting(folder)
        old.set_ciphers("DEFAULT:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.minimum_version = ssl.TLSVersion.TLSv1
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(ssl.SSLError):
            old.wrap_socket(connect(proxy), server_hostname="localhost")
        weak = trusting(folder)
        weak.maximum_version = ssl.TLSVersion.TLSv1_2
        weak.set_ciphers("ECDHE+AES+SHA256:ECDHE+AES+SHA384:AES128-SHA")
        with pytest.raises(ssl.SSLError):
            weak.wrap_socket(connect(proxy), server_hostname="localhost")


# --- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "effect", "sees"),
    [
        (TlsBadCertificate(flaw="expired"), "certificate_expired", "certificate has expired"),
        (TlsBadCertificate(flaw="self_signed"), "certificate_self_signed", "self-signed certificate"),
        (TlsBadCertificate(flaw="wrong_host"), "certificate_wrong_host", "not valid for 'localhost'"),
        (TlsOldVersion(), "tls_version", "alert protocol version"),
        (TlsHandshakeFailure(), "handshake_alert", "alert handshake failure"),
        (TlsHandshakeFailure(alert=80), "handshake_alert", "alert internal error"),
        (TlsHandshakeFailure(end="close"), "handshake_close", "EOF occurred"),
        (TlsHandshakeFailure(end="reset"), "handshake_reset", "reset by peer"),
    ],
    ids=lambda given: given.kind if isinstance(given, Fault) else "",
)
def test_a_client_sees_the_fault(folder: Path, fault: Fault, effect: str, sees: str) -> None:
    with serving() as origin, proxied(front(origin, folder), Rule("bad", fault)) as (plane, proxy):
        with pytest.raises(OSError, match=sees):
            trusting(folder).wrap_socket(connect(proxy), server_hostname="localhost")
        events = plane.take_events()
        assert [event.effect for event in events if isinstance(event, Injected)] == [effect]
        assert troubles(plane) == []


def test_a_slow_handshake_is_done_late_and_at_once_when_its_rule_goes(folder: Path) -> None:
    rule = Rule("slow", TlsSlowHandshake(delay_ms=60_000))
    with serving() as origin, proxied(front(origin, folder), rule) as (plane, proxy):
        with connect(proxy) as raw:
            client = trusting(folder).wrap_bio(
                incoming := ssl.MemoryBIO(), outgoing := ssl.MemoryBIO(), server_hostname="localhost"
            )
            with pytest.raises(ssl.SSLWantReadError):
                client.do_handshake()
            raw.sendall(outgoing.read())
            raw.settimeout(0.2)
            with pytest.raises(TimeoutError):
                raw.recv(1)
            raw.settimeout(PATIENCE_S)
            plane.set_plan(Plan())
            incoming.write(raw.recv(65536))
            client.do_handshake()
            assert client.version() == "TLSv1.3"
        assert plane.snapshot().injected == {"slow": 1}


@pytest.mark.parametrize("truncated", [False, True])
def test_a_truncated_close_has_no_close_notify(folder: Path, truncated: bool) -> None:
    rules = [Rule("cut", TlsTruncatedClose())] if truncated else []
    with serving() as origin, proxied(front(origin, folder), *rules) as (plane, proxy):
        context = trusting(folder)
        raw = connect(proxy)
        with context.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            if truncated:
                with pytest.raises(ssl.SSLEOFError):
                    read_all(client)
            else:
                assert read_all(client).endswith(b"GET / 0")
        assert plane.snapshot().injected == ({"cut": 1} if truncated else {})


# --- clients that go wrong, and input that is wrong ------------------------------------------


def test_a_client_that_does_not_trust_the_authority_is_reported_once_in_one_line(folder: Path) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (plane, proxy):
        for _ in range(2):
            with pytest.raises(ssl.SSLCertVerificationError):
                ssl.create_default_context().wrap_socket(connect(proxy), server_hostname="localhost")
        good = client_of(proxy, folder)
        assert get(good, "/a") == (200, "GET /a 0")
        good.close()
        (line,) = troubles(plane)
        assert line.startswith("a client refused the certificate for localhost (tlsv1 alert unknown ca): ")
        assert "`fault ca env`" in line


@pytest.mark.parametrize(
    ("bytes_sent", "line", "begins"),
    [
        (
            b"GET / HTTP/1.1\r\n\r\n",
            "a client that speaks clear text was refused: this port takes TLS (https://)",
            b"HTTP/1.1 400 ",
        ),
        (b"SSH-2.0-x\r\n", "a client was refused: it speaks no TLS, and this port takes TLS", b"\x15\x03"),
        (
            b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
            "a client was refused: its ClientHello is too long, and this port takes TLS",
            b"\x15\x03",
        ),
        (
            b"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03",
            "a client was refused: its ClientHello is malformed, and this port takes TLS",
            b"\x15\x03",
        ),
    ],
)
def test_a_client_that_speaks_something_else_is_refused(
    folder: Path, bytes_sent: bytes, line: str, begins: bytes
) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (plane, proxy), connect(proxy) as client:
        client.sendall(bytes_sent)
        answer = read_all(client)
        assert answer.startswith(begins)
        if begins.startswith(b"HTTP"):
            head, _, body = answer.partition(b"\r\n\r\n")
            assert f"Content-Length: {len(body)}".encode() in head
        assert troubles(plane) == [line]


def test_a_proxy_says_once_that_there_is_more_to_say(folder: Path) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (plane, proxy):
        for number in range(22):
            trusting(folder, f"p{number}").wrap_socket(connect(proxy), server_hostname="localhost").close()
        told = troubles(plane)
    assert (len(told), told[-1]) == (21, "there is more, which is not shown")


def test_half_a_handshake_ends_in_time_and_disturbs_no_other_client(folder: Path) -> None:
    spec_of = {"connect_timeout_s": 0.7}
    with serving() as origin, proxied(front(origin, folder, **spec_of)) as (plane, proxy):
        with connect(proxy) as silent, connect(proxy) as half:
            half.sendall(b"\x16\x03\x01\x02\x00\x01")
            client = client_of(proxy, folder)
            assert get(client, "/a") == (200, "GET /a 0")
            client.close()
            for sock in (silent, half):
                with pytest.raises(ConnectionResetError):
                    sock.recv(1)
        assert troubles(plane) == ["a client did not finish the TLS handshake in time (--connect-timeout)"]


def test_a_client_without_a_shared_protocol_is_reported(folder: Path) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (plane, proxy):
        with trusting(folder, "imap").wrap_socket(connect(proxy), server_hostname="localhost") as client:
            assert client.selected_alpn_protocol() is None
        assert troubles(plane) == ["a client speaks only imap (ALPN), where http/1.1, h2 is offered"]


@pytest.mark.parametrize(("offered", "agreed"), [(("h2", "http/1.1"), "http/1.1"), (("h2",), "h2")])
def test_http_2_in_front_of_a_plain_upstream_is_for_clients_that_speak_nothing_else(
    folder: Path, offered: tuple[str, ...], agreed: str
) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (_, proxy):
        with trusting(folder, *offered).wrap_socket(connect(proxy), server_hostname="localhost") as client:
            assert client.selected_alpn_protocol() == agreed


def test_a_name_that_no_server_has_is_refused(folder: Path) -> None:
    with serving() as origin, proxied(front(origin, folder)) as (plane, proxy):
        context = trusting(folder)
        context.check_hostname = False
        with pytest.raises(ssl.SSLError, match="unrecognized name"):
            context.wrap_socket(connect(proxy), server_hostname="a+b")
        assert troubles(plane) == ["a client was refused: 'a+b' is no name of a server"]


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, Path]:
    """An authority of the user's own, and a folder with the files of a certificate for localhost."""
    place = tmp_path_factory.mktemp("users")
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost")
    (place / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    (place / "key.pem").write_bytes(leaf.private_key_pem.bytes())
    (place / "other.pem").write_bytes(authority.issue_cert("other").private_key_pem.bytes())
    authority.cert_pem.write_to_path(str(place / "ca.pem"))
    return authority, place


def test_the_certificate_of_the_user_is_shown(
    folder: Path, tmp_path: Path, users: tuple[trustme.CA, Path]
) -> None:
    _, files = users
    tls = ListenerTls(str(tmp_path / "none"), NAMES, str(files / "cert.pem"), str(files / "key.pem"))
    with serving() as origin, proxied(front(origin, folder, client_tls=tls)) as (_, proxy):
        client = client_of(proxy, files)
        assert get(client, "/a") == (200, "GET /a 0")
        client.close()
    assert not (tmp_path / "none").exists()  # No authority is made that is not needed.


def test_a_key_of_another_certificate_is_refused_without_showing_it(
    folder: Path, users: tuple[trustme.CA, Path]
) -> None:
    _, files = users
    tls = ListenerTls(str(folder), NAMES, str(files / "cert.pem"), str(files / "other.pem"))
    with serving() as origin, Plane(Plan()) as plane, pytest.raises(InputError) as caught:
        plane.open_proxy(front(origin, folder, client_tls=tls))
    assert str(caught.value).startswith("--tls-key: expected a PEM file with a private key, got ")
    assert str(caught.value).endswith('other.pem": it belongs to another certificate')


def test_mutual_tls_on_both_sides(folder: Path, users: tuple[trustme.CA, Path], tmp_path: Path) -> None:
    _, files = users
    identity = (str(files / "cert.pem"), str(files / "key.pem"))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*identity)
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(files / "ca.pem")
    tls_context.cache_clear()
    with serving(server) as origin:
        spec = front(
            origin,
            folder,
            upstream=Endpoint("localhost", origin.endpoint.port),
            tls=True,
            verify=str(files / "ca.pem"),
            identity=identity,
            client_tls=listener(folder, client_ca=str(files / "ca.pem")),
        )
        with proxied(spec) as (plane, proxy):
            client = client_of(proxy, folder)
            with pytest.raises(OSError):
                get(client, "/a")
            client.close()
            context = trusting(folder)
            context.load_cert_chain(*identity)
            client = http.client.HTTPSConnection("localhost", proxy.port, timeout=PATIENCE_S, context=context)
            assert get(client, "/a") == (200, "GET /a 0")
            client.close()
            (line,) = troubles(plane)
            assert "peer did not return a certificate" in line


def test_an_upstream_that_asks_for_a_certificate_is_named(
    folder: Path, users: tuple[trustme.CA, Path]
) -> None:
    _, files = users
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(str(files / "cert.pem"), str(files / "key.pem"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(files / "ca.pem")
    with serving(server) as origin:
        at = Endpoint("localhost", origin.endpoint.port)
        spec = front(origin, folder, upstream=at, tls=True, verify=str(files / "ca.pem"))
        with proxied(spec) as (plane, proxy):
            with pytest.raises(OSError):
                get(client_of(proxy, folder), "/a")
            (line,) = troubles(plane)
            assert line.startswith("the upstream ended a connection: TLS: ")
            assert line.endswith("; --upstream-cert and --upstream-key are shown to it")


# --- ends of TLS on both sides ----------------------------------------------------------------


@pytest.fixture
def both(folder: Path, users: tuple[trustme.CA, Path], way: str) -> Iterator[tuple[Plane, Join]]:
    """A proxy with TLS on both sides, which changes the Host, passes bytes or looks for an HTTP rule."""
    _, files = users
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(str(files / "cert.pem"), str(files / "key.pem"))
    server.num_tickets = 0
    rules = [Rule("none", HttpError(), Match(path="/none"))] if way == "rule" else []
    with listening() as upstream, ThreadPoolExecutor(1) as pool:
        at = Endpoint("localhost", upstream.getsockname()[1])
        tls = listener(folder, protocols=())
        spec = ProxySpec("web", ANY_PORT, at, client_tls=tls, tls=True, verify=str(files / "ca.pem"))
        spec = replace(spec, speaks="tcp" if way == "bytes" else "http", rewrite_host=way == "host")
        with proxied(spec, *rules) as (plane, proxy):

            def join() -> tuple[ssl.SSLSocket, ssl.SSLSocket]:
                client = trusting(folder).wrap_socket(
                    connect(proxy),
                    server_hostname="localhost",
                    do_handshake_on_connect=False,
                    suppress_ragged_eofs=False,
                )
                shaken = pool.submit(client.do_handshake)
                far = server.wrap_socket(upstream.accept()[0], server_side=True, suppress_ragged_eofs=False)
                far.settimeout(PATIENCE_S)
                shaken.result(PATIENCE_S)
                return client, far

            yield plane, join


def notify(sock: ssl.SSLSocket) -> None:
    """Send close_notify, and do not wait for that of the peer."""
    sock.settimeout(0)
    with contextlib.suppress(ssl.SSLWantReadError):
        sock.unwrap()
    sock.settimeout(PATIENCE_S)


WAYS = pytest.mark.parametrize("way", ["host", "bytes", "rule"])


@WAYS
def test_an_upstream_that_ends_right_after_its_handshake_without_an_alert_is_named(
    both: tuple[Plane, Join],
) -> None:
    """As servers that use asyncio do if they want a client's certificate: their alert is lost."""
    plane, join = both
    for _ in range(2):
        client, far = join()
        with client:
            far.close()
            with contextlib.suppress(ssl.SSLEOFError):
                assert client.recv(1) == b""
    (line,) = troubles(plane)
    assert line.startswith("the upstream ended a connection right after the TLS handshake, without an alert")
    assert line.endswith("; --upstream-cert and --upstream-key are shown to it")


@WAYS
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_body_until_the_close_ends_without_close_notify_if_the_upstream_was_cut(
    both: tuple[Plane, Join], is_cut: bool
) -> None:
    client, far = both[1]()
    with client, far:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert far.recv(4096).startswith(b"GET / HTTP/1.1\r\n")
        far.sendall(b"HTTP/1.1 200 OK\r\n\r\npart")
        if not is_cut:
            notify(far)
        far.shutdown(socket.SHUT_WR)
        if is_cut:
            with pytest.raises(ssl.SSLEOFError):
                read_all(client)
        else:
            assert read_all(client).endswith(b"part")


@WAYS
def test_a_whole_answer_ends_cleanly_where_its_end_is_known(both: tuple[Plane, Join], way: str) -> None:
    client, far = both[1]()
    with client, far:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert far.recv(4096)
        far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
        far.shutdown(socket.SHUT_WR)
        if way == "bytes":
            with pytest.raises(ssl.SSLEOFError):
                read_all(client)
        else:
            assert read_all(client).endswith(b"body")


@WAYS
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_request_that_is_cut_ends_without_close_notify_for_the_upstream(
    both: tuple[Plane, Join], is_cut: bool
) -> None:
    client, far = both[1]()
    with client, far:
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\npart")
        if not is_cut:
            notify(client)
        client.shutdown(socket.SHUT_WR)
        if is_cut:
            with pytest.raises(ssl.SSLEOFError):
                read_all(far)
        else:
            assert read_all(far).endswith(b"part")
