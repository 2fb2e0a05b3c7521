"""HTTP/2 through TLS on both sides: which protocol is agreed on, and rules inside it."""

import contextlib
import shutil
import ssl
import subprocess
import threading
from concurrent import futures
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.faults.http.http_cut import HttpCut
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_drip import HttpDrip
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.http.http_lost_reply import HttpLostReply
from faultkit.faults.http.http_wrong_encoding import HttpWrongEncoding
from faultkit.faults.http2.grpc_status import GrpcStatus
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.http2.frame_scanner import PREFACE
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import DialFailed, Requested
from tests.proxy.http2.raw_client import FIELDS, frame
from tests.proxy.http2.secure_origin import TEXT, serving_h2
from tests.proxy.http2.test_http2_hostile import BOMB
from tests.proxy.proxied_http import ANY_PORT, proxied, troubles
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening

ALL = ("h2", "http/1.1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authority") / "ca"


@pytest.fixture(scope="module")
def upstreams(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, str]:
    """The authority of the upstreams, and its file."""
    authority, place = trustme.CA(), tmp_path_factory.mktemp("upstreams") / "ca.pem"
    authority.cert_pem.write_to_path(str(place))
    return authority, str(place)


@pytest.fixture
def server(upstreams: tuple[trustme.CA, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    upstreams[0].issue_cert("localhost").configure_cert(context)
    return context


def mapped(upstream: Endpoint, folder: Path, verify: str, *, rewrites: bool = False) -> ProxySpec:
    return ProxySpec(
        "web",
        ANY_PORT,
        upstream,
        tls=True,
        speaks="http",
        rewrite_host=rewrites,
        verify=verify,
        client_tls=ListenerTls(str(folder), ("localhost", LOOPBACK)),
    )


def intercepting(folder: Path, verify: str) -> ProxySpec:
    every = UpstreamSet.parse(("localhost",))
    return ProxySpec(
        "http", ANY_PORT, broken=every, verify=verify, client_tls=ListenerTls(str(folder)), intercept=every
    )


def trusting(folder: Path, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def fetch(url: str, folder: Path, *, http_2: bool = True, proxy: str | None = None) -> tuple[str, int, bytes]:
    context = trusting(folder)
    with httpx.Client(http2=http_2, verify=context, proxy=proxy, timeout=PATIENCE_S) as client:
        response = client.get(url)
    return response.http_version, response.status_code, response.content


RULES = [
    Rule("down", HttpError(status=503, body="down"), Match(path="/broken")),
    Rule("late", HttpDelay(delay_ms=1), Match(path="/late")),
]


@pytest.mark.parametrize("way", ["map", "tunnel"])
@pytest.mark.parametrize("rules", [RULES, []], ids=["rules", "no-rules"])
def test_http_2_passes_between_two_tls_connections_and_rules_act_in_it(
    way: str, rules: list[Rule], folder: Path, upstreams: tuple[trustme.CA, str], server: ssl.SSLContext
) -> None:
    with serving_h2(server, *ALL) as origin:
        spec = (
            mapped(origin.endpoint, folder, upstreams[1])
            if way == "map"
            else intercepting(folder, upstreams[1])
        )
        with proxied(spec, *rules) as (plane, proxy):
            port = proxy.port if way == "map" else origin.endpoint.port
            through = None if way == "map" else f"http://{proxy}"

            def get(path: str, *, http_2: bool = True) -> tuple[str, int, bytes]:
                return fetch(f"https://localhost:{port}{path}", folder, http_2=http_2, proxy=through)

            assert get("/late") == ("HTTP/2", 200, TEXT)
            assert get("/one", http_2=False) == ("HTTP/1.1", 200, TEXT)
            assert get("/broken")[:2] == (("HTTP/2", 503) if rules else ("HTTP/2", 200))
            assert plane.snapshot().injected == ({"down": 1, "late": 1} if rules else {})
            if rules:
                requests = [event.target for event in plane.take_events() if isinstance(event, Requested)]
                assert requests == ["/late", "/one", "/broken"]
            else:
                assert troubles(plane) == []
        here = f"localhost:{port}"
        expected = [("h2", here, "/late"), ("http/1.1", here, "/one"), ("h2", here, "/broken")]
        assert origin.seen == (expected[:2] if rules else expected)


@pytest.mark.parametrize("observed", [True, False], ids=["read", "passed"])
def test_a_map_that_replaces_the_host_replaces_the_authority_without_rules_too(
    observed: bool, folder: Path, upstreams: tuple[trustme.CA, str], server: ssl.SSLContext
) -> None:
    with serving_h2(server, *ALL) as origin:
        with Plane(Plan(), observed=observed) as plane:
            proxy = plane.open_proxy(mapped(origin.endpoint, folder, upstreams[1], rewrites=True))
            with httpx.Client(http2=True, verify=trusting(folder), timeout=PATIENCE_S) as client:
                for path in ("/a", "/b", "/c"):
                    response = client.get(f"https://localhost:{proxy.port}{path}")
                    assert (response.http_version, response.content) == ("HTTP/2", TEXT)
            assert troubles(plane) == []
            assert plane.snapshot().proxies[0].requests == 3
        assert origin.seen == [("h2", str(origin.endpoint), path) for path in ("/a", "/b", "/c")]


@pytest.mark.parametrize(
    ("speaks", "offers", "agreed"),
    [
        (ALL, ALL, "h2"),
        (("http/1.1", "h2"), ALL, "http/1.1"),
        (("http/1.1",), ALL, "http/1.1"),
        ((), ALL, "http/1.1"),
        (ALL, ("http/1.1",), "http/1.1"),
        (ALL, (), None),
        (ALL, ("h2",), "h2"),
        (ALL, ("foo", "http/1.1"), "http/1.1"),
    ],
)
def test_a_client_gets_what_the_upstream_chooses(
    speaks: tuple[str, ...],
    offers: tuple[str, ...],
    agreed: str | None,
    folder: Path,
    upstreams: tuple[trustme.CA, str],
    server: ssl.SSLContext,
) -> None:
    with serving_h2(server, *speaks) as origin:
        with proxied(mapped(origin.endpoint, folder, upstreams[1])) as (plane, proxy):
            context = trusting(folder, *offers)
            with context.wrap_socket(connect(proxy), server_hostname="localhost") as client:
                assert client.selected_alpn_protocol() == agreed
            assert troubles(plane) == []


def test_a_client_of_http_2_only_is_refused_if_the_upstream_has_none(
    folder: Path, upstreams: tuple[trustme.CA, str], server: ssl.SSLContext
) -> None:
    with serving_h2(server, "http/1.1") as origin:
        with proxied(mapped(origin.endpoint, folder, upstreams[1])) as (plane, proxy):
            with pytest.raises(ssl.SSLError, match="no application protocol"):
                trusting(folder, "h2").wrap_socket(connect(proxy), server_hostname="localhost")
            failed = [event.why for event in plane.take_events() if isinstance(event, DialFailed)]
            assert failed == ["TLS: the upstream does not offer HTTP/2, which the client speaks"]


def test_faults_of_answers_are_seen_over_tls_and_lost_replies_are_in_the_ledger(
    folder: Path, upstreams: tuple[trustme.CA, str], server: ssl.SSLContext
) -> None:
    rules = [
        Rule("lost", HttpLostReply(), Match(path="/lost")),
        Rule("cut", HttpCut(end="reset"), Match(path="/cut")),
        Rule("coded", HttpWrongEncoding(), Match(path="/coded")),
        Rule("drip", HttpDrip(bytes_per_s=1000), Match(path="/drip")),
    ]
    with serving_h2(server, *ALL) as origin:
        with proxied(mapped(origin.endpoint, folder, upstreams[1]), *rules) as (plane, proxy):
            url = f"https://localhost:{proxy.port}"
            assert fetch(f"{url}/drip", folder) == ("HTTP/2", 200, TEXT)
            for path, problem in (
                ("/lost", httpx.TransportError),  # httpx may be writing at that moment.
                ("/cut", httpx.RemoteProtocolError),
                ("/coded", httpx.DecodingError),
            ):
                with pytest.raises(problem):
                    fetch(url + path, folder)
            assert plane.snapshot().injected == {"lost": 1, "cut": 1, "coded": 1, "drip": 1}
            (line,) = plane.snapshot().proxies[0].ledger
            assert (line.method, line.target, line.status, line.done, line.lost) == (
                "GET",
                "/lost",
                200,
                1,
                1,
            )
            assert troubles(plane) == []


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_gets_http_2_through_an_intercepted_tunnel(
    folder: Path, upstreams: tuple[trustme.CA, str], server: ssl.SSLContext
) -> None:
    with (
        serving_h2(server, *ALL) as origin,
        proxied(intercepting(folder, upstreams[1]), *RULES) as (_, proxy),
    ):
        command = ["curl", "-sS", "--http2", "-x", f"http://{proxy}", "--cacert", str(folder / "ca.pem")]
        form = [*command, "-w", " %{http_version} %{http_code}", f"https://{origin.endpoint}/broken"]
        done = subprocess.run(form, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        assert done.stdout == "down 2 503"


@pytest.mark.parametrize("secure", [True, False], ids=["tls", "clear"])
def test_grpc_over_tls_in_front_of_a_server_with_and_without_it(
    folder: Path, upstreams: tuple[trustme.CA, str], secure: bool
) -> None:
    grpc: Any = pytest.importorskip("grpc")
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _: b"re:" + request)
    leaf = upstreams[0].issue_cert("localhost")
    chain = b"".join(each.bytes() for each in leaf.cert_chain_pems)
    service = grpc.server(futures.ThreadPoolExecutor(2))
    service.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("t.S", {"A": handler, "B": handler}),)
    )
    identity = grpc.ssl_server_credentials([(leaf.private_key_pem.bytes(), chain)])
    at = f"{LOOPBACK}:0"
    port = service.add_secure_port(at, identity) if secure else service.add_insecure_port(at)
    service.start()
    full = Rule("full", GrpcStatus(code="RESOURCE_EXHAUSTED"), Match(path="/t.S/B"))
    try:
        spec = replace(mapped(Endpoint("localhost", port), folder, upstreams[1]), tls=secure)
        with proxied(spec, full) as (_, proxy):
            trust = grpc.ssl_channel_credentials((folder / "ca.pem").read_bytes())
            with grpc.secure_channel(f"localhost:{proxy.port}", trust) as channel:
                assert channel.unary_unary("/t.S/A")(b"hi", timeout=PATIENCE_S) == b"re:hi"
                with pytest.raises(grpc.RpcError) as raised:
                    channel.unary_unary("/t.S/B")(b"hi", timeout=PATIENCE_S)
                assert raised.value.code().name == "RESOURCE_EXHAUSTED"
    finally:
        service.stop(None).wait()


def test_hostile_connections_disturb_no_other(
    folder: Path, server: ssl.SSLContext, upstreams: tuple[trustme.CA, str]
) -> None:
    requests = {stream: frame(1, stream, FIELDS, 5) for stream in range(1, 20_001, 2)}
    floods = {
        "Oversized header block": frame(1, 1, BOMB[:16_000], 4),
        "bound streams is 1000": b"".join(requests.values()),
        "too many frames": b"".join(each + frame(3, stream, bytes(4)) for stream, each in requests.items()),
    }
    rule = Rule("late", HttpDelay(delay_ms=1), Match(path="/late"))
    with serving_h2(server, *ALL) as origin:
        spec = mapped(origin.endpoint, folder, upstreams[1])
        with proxied(spec, rule) as (plane, proxy), httpx.Client(http2=True, verify=trusting(folder)) as good:
            url = f"https://localhost:{proxy.port}/"
            assert good.get(url).content == TEXT
            for flood in floods.values():
                with trusting(folder, "h2").wrap_socket(connect(proxy), server_hostname="localhost") as bad:
                    with contextlib.suppress(OSError):  # It may be closed before all is sent.
                        bad.sendall(PREFACE + frame(4, 0) + flood)
                    assert good.get(url).content == TEXT
                    with contextlib.suppress(OSError):
                        while bad.recv(65536):
                            pass
            assert {seen[0] for seen in origin.seen} == {"h2"}
            told = troubles(plane)
            assert [any(why in line for line in told) for why in floods] == [True] * 3


def test_an_upstream_that_ends_before_the_client_speaks_ends_that_connection_only(
    folder: Path, upstreams: tuple[trustme.CA, str], server: ssl.SSLContext
) -> None:
    server.set_alpn_protocols(ALL)
    with listening() as listener:
        upstream = Endpoint("localhost", listener.getsockname()[1])

        def shake_and_close() -> None:
            with listener.accept()[0] as raw, server.wrap_socket(raw, server_side=True) as ended:
                ended.settimeout(PATIENCE_S)

        with proxied(mapped(upstream, folder, upstreams[1]), *RULES) as (plane, proxy):
            for _ in range(2):
                threading.Thread(target=shake_and_close, daemon=True).start()
                with trusting(folder, *ALL).wrap_socket(
                    connect(proxy), server_hostname="localhost"
                ) as client:
                    assert client.recv(1) == b""
                    with contextlib.suppress(OSError):  # The connection may be gone for good.
                        client.sendall(PREFACE + frame(4, 0) + frame(1, 1, FIELDS, flags=5))
                        while client.recv(65536):
                            pass
            while plane.snapshot().proxies[0].live:
                pass
            assert troubles(plane) == []
