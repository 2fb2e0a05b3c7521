"""Tunnels that are intercepted: rules act inside, other tunnels stay as they are."""

import http.client
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.base.errors import InputError
from faultkit.base.local_authority import make_authority
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.faults.tls.tls_bad_certificate import TlsBadCertificate
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import DialFailed
from tests.proxy.origin import Origin, serving
from tests.proxy.proxied_http import ANY_PORT, get, proxied, troubles
from tests.proxy.tls_fronts import trusting
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authority") / "ca"


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


@pytest.mark.parametrize("host", ["example.org", "*.example.org"])
def test_a_host_that_the_authority_may_not_sign_for_is_refused(
    users: tuple[trustme.CA, Path], tmp_path: Path, host: str
) -> None:
    make_authority(tmp_path / "ca", ["example.com"])
    with Plane(Plan()) as plane:
        plane.open_proxy(intercepting(tmp_path / "ca", users[1], "api.example.com", "127.0.0.1", "*"))
        with pytest.raises(InputError) as caught:
            plane.open_proxy(intercepting(tmp_path / "ca", users[1], host))
    assert str(caught.value).startswith(
        "--intercept: expected a host that the authority may sign for (localhost, example.com), "
        f'got "{host}"; `fault ca create --replace --domain example.org` '
    )


def intercepting(folder: Path, files: Path, *hosts: str) -> ProxySpec:
    return ProxySpec(
        "http",
        ANY_PORT,
        broken=UpstreamSet.parse(hosts),
        verify=str(files / "ca.pem"),
        client_tls=ListenerTls(str(folder)),
        intercept=UpstreamSet.parse(hosts),
    )


def tunnelled(proxy: Endpoint, target: Endpoint, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    client = http.client.HTTPSConnection(proxy.host, proxy.port, timeout=PATIENCE_S, context=context)
    client.set_tunnel(target.host, target.port)
    return client


@pytest.fixture
def secure(users: tuple[trustme.CA, Path]) -> Iterator[Origin]:
    authority, _ = users
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with serving(context) as origin:
        yield origin


def test_http_rules_act_inside_an_intercepted_tunnel(
    folder: Path, users: tuple[trustme.CA, Path], secure: Origin
) -> None:
    _, files = users
    late = Rule("late", Latency(mean_ms=1), Match(side="client"))  # It lets the gate of hosts stand, too.
    rules = [Rule("down", HttpError(status=503), Match(path="/broken")), late]
    target = Endpoint("localhost", secure.endpoint.port)
    with proxied(intercepting(folder, files, "localhost"), *rules) as (plane, proxy):
        client = tunnelled(proxy, target, trusting(folder))
        assert get(client, "/fine") == (200, "GET /fine 0")
        assert get(client, "/broken")[0] == 503
        assert get(client, "/fine") == (200, "GET /fine 0")
        client.close()
        assert plane.snapshot().injected == {"down": 1, "late": 1}
        assert troubles(plane) == []
    assert [path for _, path, _ in secure.seen] == ["/fine", "/fine"]


def test_other_tunnels_stay_as_they_are(folder: Path, users: tuple[trustme.CA, Path], secure: Origin) -> None:
    _, files = users
    rules = [Rule("down", HttpError()), Rule("bad", TlsBadCertificate())]
    target = Endpoint("localhost", secure.endpoint.port)
    with proxied(intercepting(folder, files, "example.com"), *rules) as (plane, proxy):
        client = tunnelled(proxy, target, trusting(files))  # It sees the certificate of the upstream.
        assert get(client, "/a") == (200, "GET /a 0")
        client.close()
        assert plane.snapshot().injected == {"down": 0, "bad": 0}


def test_an_upstream_whose_certificate_is_not_trusted_is_answered_by_an_alert(
    folder: Path, secure: Origin, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    target = Endpoint("localhost", secure.endpoint.port)
    with proxied(intercepting(folder, tmp_path, "*")) as (plane, proxy):
        with pytest.raises(ssl.SSLError, match="internal error"):
            get(tunnelled(proxy, target, trusting(folder)), "/a")
        (failed,) = [event for event in plane.take_events() if isinstance(event, DialFailed)]
        assert failed.upstream == str(target)
        assert failed.why.startswith("TLS: the certificate is not trusted: ")


def test_a_client_may_send_its_hello_behind_connect_at_once(
    folder: Path, users: tuple[trustme.CA, Path], secure: Origin
) -> None:
    _, files = users
    with proxied(intercepting(folder, files, "localhost")) as (_, proxy), connect(proxy) as raw:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting(folder).wrap_bio(incoming, outgoing, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        port = secure.endpoint.port
        raw.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode() + outgoing.read())
        answer = b""
        while not answer.startswith(b"HTTP/1.1 200") or len(answer.partition(b"\r\n\r\n")[2]) < 100:
            answer += raw.recv(65536)
        incoming.write(answer.partition(b"\r\n\r\n")[2])
        client.do_handshake()
        assert client.version() == "TLSv1.3"


@pytest.mark.parametrize("at_once", [False, True], ids=["after-the-answer", "behind-connect"])
@pytest.mark.parametrize(("path", "status", "answer"), [("/a", 200, "GET /a 0"), ("/down", 503, "")])
def test_clear_text_inside_an_intercepted_tunnel_is_http_without_tls(
    folder: Path, users: tuple[trustme.CA, Path], at_once: bool, path: str, status: int, answer: str
) -> None:
    rule = Rule("down", HttpError(status=503), Match(path="/down"))
    with serving() as origin, proxied(intercepting(folder, users[1], "127.0.0.1"), rule) as (plane, proxy):
        opening = f"CONNECT {origin.endpoint} HTTP/1.1\r\n\r\n".encode()
        request = f"GET {path} HTTP/1.1\r\nHost: {origin.endpoint}\r\nConnection: close\r\n\r\n".encode()
        with connect(proxy) as raw:
            raw.sendall(opening + request * at_once)
            stream = raw.makefile("rb")
            assert (stream.readline().split()[1], stream.readline()) == (b"200", b"\r\n")
            if not at_once:
                raw.sendall(request)
            got = stream.read()
            stream.close()
        assert got.startswith(f"HTTP/1.1 {status} ".encode())
        assert got.endswith(b"\r\n\r\n" + answer.encode())
        assert plane.snapshot().injected == {"down": int(status == 503)}
        assert troubles(plane) == []


def test_a_tunnel_in_which_the_server_speaks_first_passes_as_it_is(
    folder: Path, users: tuple[trustme.CA, Path]
) -> None:
    with (
        socket.create_server((LOOPBACK, 0)) as listener,
        proxied(intercepting(folder, users[1], LOOPBACK), Rule("down", HttpError())) as (plane, proxy),
        connect(proxy) as client,
    ):
        port = listener.getsockname()[1]
        client.sendall(f"CONNECT {LOOPBACK}:{port} HTTP/1.1\r\n\r\n".encode())
        server = listener.accept()[0]
        stream = client.makefile("rb")
        with server, stream:
            server.sendall(b"220 ready\r\n")
            assert [stream.readline() for _ in range(3)][1:] == [b"\r\n", b"220 ready\r\n"]
            client.sendall(b"EHLO me\r\n")
            assert server.recv(100) == b"EHLO me\r\n"
        what = f"down cannot act on what is inside CONNECT {LOOPBACK}:{port}: it passes as bytes"
        assert troubles(plane) == [what]
