"""The forward proxy, with real clients and real servers."""

import socket
import sys

import pytest

from faultkit.base.address import UpstreamSet
from faultkit.faults.connection.dns import Dns
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Rule, Trigger
from faultkit.proxy import link
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane_events import Closed, Directed
from tests.proxy.origin import serving
from tests.proxy.proxied_http import ANY_PORT, client_of, get, proxied, troubles
from tests.proxy.wires import connect, listening, read_all


def forward(broken: str = "*") -> ProxySpec:
    return ProxySpec("http", ANY_PORT, broken=UpstreamSet.parse([broken]))


def test_a_forward_proxy_reaches_several_origins_over_one_connection() -> None:
    with serving() as one, serving() as two, proxied(forward()) as (_, proxy):
        client = client_of(proxy)
        for origin in (one, one, two, one):
            assert get(client, f"http://{origin.endpoint}/x?y=1") == (200, "GET /x?y=1 0")
        client.close()
        assert [len(origin.seen) for origin in (one, two)] == [3, 1]
        assert two.seen[0][2] == str(two.endpoint)


def test_only_the_named_upstreams_are_broken() -> None:
    with serving() as hit, serving() as spared:
        rule = Rule("broken", HttpError(status=500))
        with proxied(forward(str(hit.endpoint)), rule) as (_, proxy):
            client = client_of(proxy)
            assert get(client, f"http://{hit.endpoint}/")[0] == 500
            assert get(client, f"http://{spared.endpoint}/")[0] == 200
            client.close()


def test_connect_opens_a_tunnel_on_which_stream_faults_act() -> None:
    rule = Rule("slow", Latency(mean_ms=10, per="operation"))
    with serving() as origin, proxied(forward(), rule) as (plane, proxy):
        client = client_of(proxy)
        client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
        assert get(client, "/inside") == (200, "GET /inside 0")
        client.close()
        assert plane.snapshot().injected["slow"] >= 1


def test_a_target_that_cannot_be_reached_gives_502() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
    with proxied(forward()) as (plane, proxy):
        client = client_of(proxy)
        for _ in range(2):
            status, body = get(client, f"http://127.0.0.1:{port}/")
            assert status == 502
            assert f"127.0.0.1:{port}" in body
        client.close()
        counts = plane.snapshot().proxies[0]
        assert (counts.dial_failures, counts.own_answers) == (2, 2)


def test_an_answer_of_a_fault_or_of_the_target_is_not_one_of_the_proxy_s_own() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
    teapot = Rule("teapot", HttpError(status=418, call_upstream=True), Match(path="/tea"))
    with serving() as origin, proxied(forward(), teapot) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, f"http://127.0.0.1:{port}/tea")[0] == 418
        assert get(client, f"http://{origin.endpoint}/")[0] == 200
        client.close()
        counts = plane.snapshot().proxies[0]
        assert (counts.dial_failures, counts.own_answers) == (1, 0)


def test_an_injected_name_failure_gives_502_and_a_delay_passes() -> None:
    with serving() as origin:
        url = f"http://localhost:{origin.endpoint.port}/"
        with proxied(forward(), Rule("dns", Dns(), trigger=Trigger(first=1))) as (plane, proxy):
            client = client_of(proxy)
            assert get(client, url)[0] == 502
            assert get(client, url)[0] == 200
            client.close()
            seen = plane.snapshot()
            assert seen.injected == {"dns": 1}
            assert (seen.proxies[0].dial_failures, seen.proxies[0].own_answers) == (0, 0)


def test_garbage_gets_400_and_the_proxy_goes_on() -> None:
    with serving() as origin, proxied(forward()) as (_, proxy):
        with connect(proxy) as raw:
            raw.sendall(b"\x16\x03\x01\x02\x00 this is not HTTP\r\n\r\n")
            assert read_all(raw).startswith(b"HTTP/1.1 400 ")
        client = client_of(proxy)
        assert get(client, f"http://{origin.endpoint}/")[0] == 200
        client.close()


def test_http_rules_that_cannot_act_inside_connect_are_told_once_and_for_broken_hosts_only() -> None:
    rule = Rule("broken", HttpError(status=500))
    with serving() as hit, serving() as spared, proxied(forward(str(hit.endpoint)), rule) as (plane, proxy):
        for origin in (hit, spared, hit):
            client = client_of(proxy)
            client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
            assert get(client, "/inside") == (200, "GET /inside 0")
            client.close()
        assert troubles(plane) == [
            f"broken cannot act on what is inside CONNECT {hit.endpoint}: it passes as bytes"
        ]


def test_events_of_a_forward_proxy_name_the_destination() -> None:
    with serving() as hit, serving() as spared, proxied(forward(str(hit.endpoint))) as (plane, proxy):
        client = client_of(proxy)
        for origin in (hit, spared):
            assert get(client, f"http://{origin.endpoint}/")[0] == 200
        client.close()
        directed = [event for event in plane.take_events() if isinstance(event, Directed)]
        assert [(event.connection, event.upstream, event.spared) for event in directed] == [
            (0, str(hit.endpoint), False),
            (0, str(spared.endpoint), True),
        ]


def test_events_of_a_forward_proxy_name_the_destination_of_requests_that_a_rule_answers() -> None:
    rule = Rule("broken", HttpError(status=503), Match(path="/"))
    with serving() as one, serving() as other, proxied(forward(), rule) as (plane, proxy):
        client = client_of(proxy)
        for origin, path in ((one, ""), (one, ""), (other, "fine"), (other, ""), (one, "")):
            assert get(client, f"http://{origin.endpoint}/{path}")[0] == (200 if path else 503)
        client.close()
        directed = [event.upstream for event in plane.take_events() if isinstance(event, Directed)]
        assert directed == [str(origin.endpoint) for origin in (one, other, one)]


@pytest.mark.skipif(sys.platform != "linux", reason="only epoll reports the end of input that is not read")
@pytest.mark.parametrize("sent", [b"GET http://127.0.0.1:9/ HTTP/1.1\r\n\r\n", b""])
def test_a_client_that_leaves_before_there_is_an_upstream_is_forgotten(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_ABANDONED_S", 0)
    rule = Rule("stalled", Blackhole(), Match(side="client", direction="both"))
    with proxied(forward(), rule) as (plane, proxy), connect(proxy) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)  # To the proxy, a client that has left looks the same.
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        assert plane.snapshot().proxies[0].live == 0
        assert [event.how for event in plane.take_events() if isinstance(event, Closed)] == ["abandoned"]
