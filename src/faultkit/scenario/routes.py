"""Which proxies an item needs, and the route of its calls. Pure: it opens nothing.

calls            faults on             route
http://a         a                     forward proxy, absolute form
https://a        a                     forward proxy, CONNECT: faults see encrypted bytes
https://a        a, of http or llm     an own reverse proxy: clear text to it, TLS from it
any              the maps only         straight; the service reaches its dependencies through the maps
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import overload
from urllib.parse import urlsplit

from faultkit.base.address import LOOPBACK, Endpoint, Upstream, UpstreamSet, Verify
from faultkit.load.load import AnyTarget, McpTarget, Target
from faultkit.plan import fresh_name
from faultkit.proxy.data_plane import ProxySpec
from faultkit.scenario.scenario_model import Call, HttpCall, McpCall, ScenarioItem

FORWARD = "http"
"""The forward proxy's name for `match.proxy`, as in `fault run`."""
FRONT = "front"
"""The name of the reverse proxy in front of an https target."""
FORWARD_PORT = 3180
"""The port on which a service under test expects the forward proxy."""
TIMEOUT_S = 30.0
"""The time limit of a call that has none, so that every run ends."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The proxies of an item, and which of them its own calls use."""

    proxies: tuple[ProxySpec, ...]
    through: str | None
    """The proxy that the calls themselves go through, if any."""


def routes_of(item: ScenarioItem, listen: Endpoint | None = None, verify: Verify = True) -> Routes:
    """Return the proxies of an item. `listen` is the address of the forward proxy, or of the one before an
    https target that takes its place.

    By default the proxy takes a free port. If it breaks hosts other than the call's own, it takes
    FORWARD_PORT, because the service must know in advance where to send those requests.
    """
    maps: list[ProxySpec] = []
    for given in item.maps:
        name = fresh_name(str(given.listen.port), {FORWARD, FRONT, *(spec.name for spec in maps)})
        maps.append(replace(ProxySpec.of_map(name, given), verify=verify))
    own = origin_of(item.call.url) if item.call.url else _NO_ORIGIN
    broken = item.upstreams
    if not broken.upstreams and not item.maps and item.call.url:
        broken = UpstreamSet((Upstream(own.host, own.port),))
    if not item.http_proxy or not broken.upstreams:
        return Routes(tuple(maps), None)
    needs_http = any(fault.rule.fault.level in ("http", "llm") for fault in item.faults)
    if broken.covers(own.host, own.port) and item.call.url.startswith("https:") and needs_http:
        at = listen or Endpoint(LOOPBACK, 0)
        front = ProxySpec(FRONT, at, own, tls=True, speaks="http", verify=verify)
        return Routes((*maps, front), FRONT)
    if listen is None:
        only_own = all(upstream.covers(own.host, own.port) for upstream in broken.upstreams)
        listen = Endpoint(LOOPBACK, 0 if only_own else FORWARD_PORT)
    return Routes((*maps, ProxySpec(FORWARD, listen, broken=broken, verify=verify)), FORWARD)


_NO_ORIGIN = Endpoint("stdio.invalid", 0)
"""The origin of calls over stdio, which no fault acts on."""


def time_limit_s(call: Call) -> float:
    """Return the time after which a call is given up. A stream that is read for a time has that time more."""
    if call.timeout_s is not None:
        return call.timeout_s
    stream = None if isinstance(call, McpCall) else call.stream
    return TIMEOUT_S + (0.0 if stream is None or stream.time_s is None else stream.time_s)


@overload
def target_of(
    call: HttpCall, routes: Routes, bound: Mapping[str, Endpoint], verify: Verify = True
) -> Target: ...
@overload
def target_of(
    call: Call, routes: Routes, bound: Mapping[str, Endpoint], verify: Verify = True
) -> AnyTarget: ...
def target_of(call: Call, routes: Routes, bound: Mapping[str, Endpoint], verify: Verify = True) -> AnyTarget:
    """Return the call for the load engine, once the proxies are open."""
    through = None if routes.through is None else bound[routes.through]
    limit_s = time_limit_s(call)
    http = Target(
        "POST",
        call.url,
        call.headers,
        timeout_s=limit_s,
        proxy=through if routes.through == FORWARD else None,
        connect_to=through if routes.through == FRONT else None,
        verify=verify,
    )
    if isinstance(call, HttpCall):
        body = (call.body or "").encode()
        return replace(http, method=call.method, body=body, stream=call.stream, llm=call.llm)
    return McpTarget(
        call.tool,
        call.arguments,
        http if call.url else None,
        call.command,
        call.env,
        call.cwd,
        call.era,
        limit_s,
    )


def origin_of(url: str) -> Endpoint:
    """Return the host and port of a URL; the port defaults to that of the scheme."""
    parts = urlsplit(url)
    return Endpoint(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


def route_text(spec: ProxySpec, bound: Endpoint) -> str:
    """Return a proxy as the report shows it: its address, and where it leads."""
    if spec.upstream is None:
        hosts = ", ".join(str(upstream) for upstream in spec.broken.upstreams) if spec.broken else "any host"
        return f"{bound} → any host (HTTP proxy; faults act on {hosts})"
    return f"{bound} → {spec.upstream}"
