"""The proxies of an item, and the route of its calls."""

from __future__ import annotations

import pytest

from faultkit.base.address import Endpoint, UpstreamSet, parse_map
from faultkit.faults import PROXY_FAULTS
from faultkit.plan import Rule
from faultkit.scenario.routes import FORWARD, FRONT, origin_of, route_text, routes_of, target_of
from faultkit.scenario.scenario_model import HttpCall, ScenarioItem, WrittenFault

PLAIN = HttpCall("GET", "http://service.test:8080/a")
SECURE = HttpCall("GET", "https://service.test/a")


def item(
    call: HttpCall, kind: str = "latency", upstreams: tuple[str, ...] = (), **others: object
) -> ScenarioItem:
    fault = WrittenFault(kind, Rule(kind, PROXY_FAULTS[kind]()))
    return ScenarioItem(call, (fault,), upstreams=UpstreamSet.parse(upstreams), **others)  # type: ignore[arg-type]


def test_without_upstreams_and_maps_the_faults_act_on_the_calls_own_host() -> None:
    routes = routes_of(item(PLAIN))
    (forward,) = routes.proxies
    assert (forward.name, forward.listen, routes.through) == (FORWARD, Endpoint("127.0.0.1", 0), FORWARD)
    assert forward.broken is not None
    assert forward.broken.covers("service.test", 8080)
    assert not forward.broken.covers("service.test", 80)


def test_with_maps_alone_the_calls_go_straight() -> None:
    routes = routes_of(item(PLAIN, maps=(parse_map("7072=http://127.0.0.1:7071"),)))
    assert [spec.name for spec in routes.proxies] == ["7072"]
    assert routes.through is None
    target = target_of(PLAIN, routes, {"7072": Endpoint("127.0.0.1", 7072)})
    assert (target.proxy, target.connect_to) == (None, None)


def test_maps_and_upstreams_together_give_both() -> None:
    maps = (parse_map("7072=http://127.0.0.1:7071"),)
    routes = routes_of(item(PLAIN, upstreams=("service.test",), maps=maps))
    assert [spec.name for spec in routes.proxies] == ["7072", FORWARD]
    assert routes.through == FORWARD


def test_a_disabled_forward_proxy_is_not_opened() -> None:
    assert routes_of(item(PLAIN, upstreams=("*",), http_proxy=False)).proxies == ()


@pytest.mark.parametrize(("upstream", "port"), [("service.test:8080", 0), ("other.test", 3180)])
def test_the_forward_proxy_stands_where_a_service_knows_it_if_other_hosts_are_to_be_broken(
    upstream: str, port: int
) -> None:
    (forward,) = routes_of(item(PLAIN, upstreams=(upstream,))).proxies
    assert forward.listen.port == port


def test_where_the_proxy_stands_can_be_chosen() -> None:
    (forward,) = routes_of(item(PLAIN, upstreams=("other.test",)), Endpoint("127.0.0.1", 5000)).proxies
    assert forward.listen == Endpoint("127.0.0.1", 5000)
    (front,) = routes_of(item(SECURE, "http_error"), Endpoint("10.0.0.9", 5000)).proxies
    assert front.listen == Endpoint("10.0.0.9", 5000)


def test_faults_on_bytes_meet_https_in_a_tunnel() -> None:
    routes = routes_of(item(SECURE))
    target = target_of(SECURE, routes, {FORWARD: Endpoint("127.0.0.1", 9)})
    assert (target.proxy, target.connect_to) == (Endpoint("127.0.0.1", 9), None)


@pytest.mark.parametrize("kind", ["http_error", "clean_end"])
def test_faults_on_requests_meet_https_in_a_front_that_speaks_tls_for_the_client(kind: str) -> None:
    routes = routes_of(item(SECURE, kind), verify=False)
    (front,) = routes.proxies
    assert (front.name, front.upstream, front.tls, front.speaks, front.verify) == (
        FRONT,
        Endpoint("service.test", 443),
        True,
        "http",
        False,
    )
    target = target_of(SECURE, routes, {FRONT: Endpoint("127.0.0.1", 9)})
    assert (target.url, target.proxy, target.connect_to) == (SECURE.url, None, Endpoint("127.0.0.1", 9))


def test_a_call_without_a_limit_gets_one() -> None:
    assert target_of(PLAIN, routes_of(item(PLAIN, http_proxy=False)), {}).timeout_s == 30.0
    given = HttpCall("GET", PLAIN.url, timeout_s=0.5)
    assert target_of(given, routes_of(item(given, http_proxy=False)), {}).timeout_s == 0.5


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://a.test/x", Endpoint("a.test", 80)),
        ("https://a.test", Endpoint("a.test", 443)),
        ("http://[::1]:8080/", Endpoint("::1", 8080)),
    ],
)
def test_the_origin_of_a_url_has_a_port(url: str, origin: Endpoint) -> None:
    assert origin_of(url) == origin


def test_a_route_shows_its_address_and_target() -> None:
    (forward,) = routes_of(item(PLAIN)).proxies
    bound = Endpoint("127.0.0.1", 40000)
    assert route_text(forward, bound) == (
        "127.0.0.1:40000 → any host (HTTP proxy; faults act on service.test:8080)"
    )
    (mapped,) = routes_of(item(PLAIN, maps=(parse_map("7072=db.test:5432"),))).proxies
    assert route_text(mapped, Endpoint("127.0.0.1", 7072)) == "127.0.0.1:7072 → db.test:5432"
