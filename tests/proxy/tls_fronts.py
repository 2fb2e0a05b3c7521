"""Maps that speak TLS to clients, and clients that trust them."""

import http.client
import ssl
from dataclasses import replace
from pathlib import Path

from faultkit.base.address import Endpoint
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from tests.proxy.origin import Origin
from tests.proxy.proxied_http import ANY_PORT
from tests.proxy.wires import LOOPBACK, PATIENCE_S

NAMES = ("localhost", LOOPBACK)


def listener(folder: Path, **more: object) -> ListenerTls:
    return ListenerTls(str(folder), NAMES, **more)  # type: ignore[arg-type]


def front(origin: Origin, folder: Path, **more: object) -> ProxySpec:
    """A map that speaks TLS to clients, and clear text to its upstream."""
    spec = ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http", client_tls=listener(folder))
    return replace(spec, **more)  # type: ignore[arg-type]


def trusting(folder: Path, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def client_of(proxy: Endpoint, folder: Path, host: str = "localhost") -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection(host, proxy.port, timeout=PATIENCE_S, context=trusting(folder))
