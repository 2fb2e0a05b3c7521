"""Where the faults of an item stood: between clients and the service, or behind the service.

The advice hangs on it: a service cannot time out on a call that it does not make.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from faultkit.base.address import UpstreamSet
from faultkit.base.errors import InputError
from faultkit.scenario.report.model import Item

_ACT_ON = "faults act on "
_LOOPBACKS = ("localhost", "127.0.0.1", "::1")
"""The same machine by each of its usual names."""


def behind_service(item: Item) -> bool:
    """Whether faults stood on the way to a dependency of the service, and none on the way to the service. If
    that cannot be told, they did not: nothing is said of a dependency that nobody has named."""
    own = _own(item.call.url)
    routes = [route.partition(" → ") for route in item.routes]
    known = [(listen, to) for listen, arrow, to in routes if arrow]
    if own is None or not known:
        return False
    return not any(_covers(listen, own) or _meets(to, own) for listen, to in known)


def _own(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None


def _meets(to: str, own: tuple[str, int]) -> bool:
    """`to` is `HOST:PORT`, or `any host (HTTP proxy; faults act on HOST:PORT, …)`."""
    _, named, hosts = to.partition(_ACT_ON)
    if not named:
        return to.startswith("any host") or _covers(to, own)
    return hosts.startswith("any host") or _covers(hosts.removesuffix(")"), own)


def _covers(hosts: str, own: tuple[str, int]) -> bool:
    """What cannot be read may be anything."""
    try:
        broken = UpstreamSet.parse([hosts])
    except InputError:
        return True
    return any(broken.covers(host, own[1]) for host in _names(own[0]))


def _names(host: str) -> Iterator[str]:
    yield from _LOOPBACKS if host in _LOOPBACKS else (host,)
