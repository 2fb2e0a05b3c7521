"""A proxy with rules, and HTTP clients of it."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from faultkit.base.address import Endpoint
from faultkit.plan import Plan, Rule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Trouble
from tests.proxy.origin import Origin
from tests.proxy.wires import LOOPBACK, PATIENCE_S

ANY_PORT = Endpoint(LOOPBACK, 0)


@contextmanager
def proxied(spec: ProxySpec, *rules: Rule, seed: int = 3) -> Iterator[tuple[Plane, Endpoint]]:
    with Plane(Plan(rules, seed), observed=True) as plane:
        yield plane, plane.open_proxy(spec)


def client_of(endpoint: Endpoint) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=PATIENCE_S)


def inline(origin: Origin) -> ProxySpec:
    return ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http")


def get(
    client: http.client.HTTPConnection, target: str, method: str = "GET", **headers: str
) -> tuple[int, str]:
    client.request(method, target, headers=headers)
    response = client.getresponse()
    return response.status, response.read().decode()


def troubles(plane: Plane) -> list[str]:
    return [event.what for event in plane.take_events() if isinstance(event, Trouble)]
