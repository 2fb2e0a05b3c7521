"""Which proxies an item needs, and which way its calls go. Pure: it opens nothing.

calls            faults on             way
http://a         a                     forward proxy, absolute form
https://a        a                     forward proxy, CONNECT: faults see encrypted bytes
https://a        a, of level http      a front of our own: clear text to it, TLS from there on
any              the maps only         straight; the service reaches its dependencies through the maps
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from faultkit.base.address import LOOPBACK, Endpoint, Upstream, UpstreamSet
from faultkit.load.target import Target
from faultkit.plan import fresh_name
from faultkit.proxy.spec import ProxySpec
from faultkit.scenario.model import Call, Item

FORWARD = "http"
"""The forward proxy's name for `match.proxy`, as in `fault run`."""
FRONT = "front"
FORWARD_PORT = 3180
"""Where a service under test expects the forward proxy, if its upstreams are to be broken through it."""
TIMEOUT_S = 30.0
"""Of a call that gives none: a run must come to an end."""


@dataclass(frozen=True, slots=True)
class Routes:
    proxies: tuple[ProxySpec, ...]
    through: str | None
    """The proxy that the calls themselves go through, if any."""


def routes_of(item: Item, listen: Endpoint | None = None, verify: bool = True) -> Routes:
    """`listen`: where the forward proxy is to stand. By default on any free port, unless hosts other than the
    call's own are to be broken: a service must know beforehand where to send those."""
    maps: list[ProxySpec] = []
    for given in item.maps:
        name = fresh_name(str(given.listen.port), {FORWARD, FRONT, *(spec.name for spec in maps)})
        maps.append(
            ProxySpec(
                name, given.listen, given.upstream, given.tls, given.speaks, given.rewrite_host, verify=verify
            )
        )
    own = origin_of(item.call.url)
    broken = item.upstreams
    if not broken.upstreams and not item.maps:
        broken = UpstreamSet((Upstream(own.host, own.port),))
    if not item.http_proxy or not broken.upstreams:
        return Routes(tuple(maps), None)
    if broken.covers(own.host, own.port) and item.call.url.startswith("https:") and _needs_http(item):
        front = ProxySpec(FRONT, Endpoint(LOOPBACK, 0), own, tls=True, speaks="http", verify=verify)
        return Routes((*maps, front), FRONT)
    if listen is None:
        only_own = all(upstream.covers(own.host, own.port) for upstream in broken.upstreams)
        listen = Endpoint(LOOPBACK, 0 if only_own else FORWARD_PORT)
    return Routes((*maps, ProxySpec(FORWARD, listen, broken=broken, verify=verify)), FORWARD)


def target_of(call: Call, routes: Routes, bound: Mapping[str, Endpoint], verify: bool = True) -> Target:
    """The call as the load engine wants it, once the proxies are open."""
    through = None if routes.through is None else bound[routes.through]
    return Target(
        call.method,
        call.url,
        call.headers,
        (call.body or "").encode(),
        TIMEOUT_S if call.timeout_s is None else call.timeout_s,
        proxy=through if routes.through == FORWARD else None,
        connect_to=through if routes.through == FRONT else None,
        verify=verify,
    )


def origin_of(url: str) -> Endpoint:
    parts = urlsplit(url)
    return Endpoint(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


def route_text(spec: ProxySpec, bound: Endpoint) -> str:
    if spec.upstream is None:
        hosts = ", ".join(str(upstream) for upstream in spec.broken.upstreams) if spec.broken else "any host"
        return f"{bound} → any host (HTTP proxy; faults act on {hosts})"
    return f"{bound} → {spec.upstream}"


def _needs_http(item: Item) -> bool:
    return any(fault.rule.fault.level == "http" for fault in item.faults)
