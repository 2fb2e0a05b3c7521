"""The fixture `proxy`: a proxy in front of an echo server, with its control API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faultkit.base.address import Endpoint
from faultkit.plan import Plan
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane


@pytest.fixture
def proxy(echo: Endpoint) -> Iterator[tuple[Endpoint, Endpoint, Plane]]:
    """Yield the address of a proxy, that of its control API, and the plane."""
    with Plane(Plan()) as plane:
        bound = plane.open_proxy(ProxySpec("echo", Endpoint("127.0.0.1", 0), echo))
        with ControlServer(plane, Endpoint("127.0.0.1", 0), "secret") as control:
            yield bound, control.bound, plane
