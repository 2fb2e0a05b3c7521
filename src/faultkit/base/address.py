"""Addresses as users write them: endpoints, proxy maps (`34000=https://example.com`) and upstreams.

    map    = left "=" right
    left   = [ "scheme://" ] [ host ] ":" port | scheme ":" port | port
    right  = [ "scheme://" ] host [ ":" port ] | [ "scheme://" ] ":" port | scheme ":" port | port

The left scheme says what clients speak: with `tls` and `https` they speak TLS. The right one says what the
upstream speaks, and is that of the left where there is none.
Requests get the upstream's Host if the left scheme is `http` or `https`, or if there is none and the right
one is `https`.

Also the names of this machine. All text and pure: it opens no socket and resolves no name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Literal, NamedTuple, TypeAlias

from faultkit.base.errors import InputError

LOOPBACK = "127.0.0.1"

Speaks: TypeAlias = Literal["tcp", "http", "psql"]
Verify: TypeAlias = bool | str
"""Which certificates of a server are trusted. True: those of the system's authorities; a path: also those of
the authorities in this PEM file; False: all."""


class _Scheme(NamedTuple):
    port: int | None
    tls: bool
    speaks: Speaks
    secured: str
    """The scheme that it becomes with TLS."""
    to_clients: bool = False
    """Clients of a port with this scheme speak TLS."""


SCHEMES: dict[str, _Scheme] = {
    "tcp": _Scheme(None, False, "tcp", "tls"),
    "tls": _Scheme(443, True, "tcp", "tls", True),
    "http": _Scheme(80, False, "http", "https"),
    "https": _Scheme(443, True, "http", "https", True),
    "psql": _Scheme(5432, False, "psql", "psqls"),
    "psqls": _Scheme(5432, True, "psql", "psqls"),
}
_OTHER_SCHEMES = frozenset(
    ("ws", "wss", "h2", "h2c", "grpc", "grpcs", "ssl", "udp", "quic", "postgres", "postgresql", "mysql")
)
"""Schemes that users expect before a port to listen on. As hosts they would not be found."""

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?", re.ASCII)
_HOST_GLOB = re.compile(r"[A-Za-z0-9_.*?-]+", re.ASCII)
_DOTTED_NUMBERS = re.compile(r"[0-9.]+", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{url_host(self.host)}:{self.port}"


@dataclass(frozen=True, slots=True)
class ProxyMap:
    """An endpoint to listen on and the upstream to connect to."""

    listen: Endpoint
    upstream: Endpoint
    tls: bool = False
    """Speak TLS to the upstream."""
    speaks: Speaks = "tcp"
    """Protocol of the bytes. HTTP faults can act only with `http`; TLS begins otherwise with `psql`."""
    rewrite_host: bool = False
    """A reverse proxy: requests get the upstream's Host. Otherwise bytes go through as they are."""
    client_tls: bool = False
    """Speak TLS to clients."""

    def __str__(self) -> str:
        """Return text that `parse_map` reads as this map."""
        scheme = SCHEMES[self.speaks].secured if self.tls else self.speaks
        left = str(self.listen)
        if self.client_tls:
            left = f"{'https' if self.rewrite_host else 'tls'}://{left}"
        elif self.rewrite_host != (scheme == "https"):
            left = f"{'http' if self.rewrite_host else 'tcp'}://{left}"
        return f"{left}={scheme}://{self.upstream}"


class _Parts(NamedTuple):
    """The parts of one side of a map; None for a part that was not written."""

    scheme: str | None
    host: str | None
    port: int | None


def parse_map(text: str) -> ProxyMap:
    """Return the map of a text such as `9090=https://example.com`. Raises InputError."""
    try:
        return _map(text.strip())
    except ValueError as error:
        raise InputError("proxy", f'{error} in "{text}"') from None


def _map(text: str) -> ProxyMap:
    left_text, equals, right_text = text.partition("=")
    if not equals:
        raise ValueError('expected PORT=HOST:PORT such as "9090=https://example.com", got no "="')
    word = left_text.strip().partition(":")[0].lower()
    if word in _OTHER_SCHEMES:
        raise ValueError(f'expected a scheme out of {", ".join(SCHEMES)}, got "{word}"')
    left, right = _cut(left_text.strip()), _cut(right_text.strip())
    if left.port is None:
        raise ValueError(f'expected a port to listen on left of "=", got "{left_text.strip()}"')

    scheme = right.scheme or left.scheme or "tcp"
    client_tls = left.scheme is not None and SCHEMES[left.scheme].to_clients
    if left.scheme is not None and SCHEMES[left.scheme].tls and not client_tls:
        scheme = SCHEMES[scheme].secured
    port = SCHEMES[scheme].port if right.port is None else right.port
    if port is None:
        raise ValueError(
            f'expected a port after "{right_text.strip()}", got none, and {scheme} has no default'
        )
    if port == 0:
        raise ValueError('expected an upstream port from 1 to 65535, got "0"')

    # Servers of https have many names on one address: with the Host of the proxy they answer an error page.
    reverse = scheme == "https" if left.scheme is None else SCHEMES[left.scheme].speaks == "http"
    return ProxyMap(
        listen=Endpoint(left.host or LOOPBACK, left.port),
        upstream=Endpoint(right.host or LOOPBACK, port),
        tls=SCHEMES[scheme].tls,
        speaks="http" if reverse else SCHEMES[scheme].speaks,
        rewrite_host=reverse,
        client_tls=client_tls,
    )


def parse_endpoint(
    text: str, default_port: int | None = None, default_host: str = LOOPBACK, path: str = "address"
) -> Endpoint:
    """Return the endpoint of `HOST:PORT`, `:PORT`, `PORT`, `[IPv6]:PORT`, or `HOST` with a default port."""
    try:
        host, port = _cut_authority(text.strip())
        port = default_port if port is None else port
        if port is None:
            raise ValueError("expected HOST:PORT, got no port")
    except ValueError as error:
        raise InputError(path, f'{error} in "{text}"') from None
    return Endpoint(host or default_host, port)


def _cut(text: str) -> _Parts:
    scheme, rest = _cut_scheme(text)
    if scheme is None:
        word, colon, port = text.partition(":")
        if colon and word in SCHEMES:
            return _Parts(word, None, _port(port))
    return _Parts(scheme, *_cut_authority(rest))


def _cut_scheme(text: str) -> tuple[str | None, str]:
    """Return the scheme, if any, and the rest without a closing slash."""
    scheme, marks, rest = text.partition("://")
    if not marks:
        scheme, rest = "", text
    elif scheme.lower() not in SCHEMES:
        raise ValueError(f'expected a scheme out of {", ".join(SCHEMES)}, got "{scheme}"')
    rest = rest.removesuffix("/")
    for mark, what in (("@", "a user"), ("/", "a path"), ("?", "a query"), ("#", "a fragment")):
        if mark in rest:
            raise ValueError(f"expected only a host and a port, got {what}")
    return scheme.lower() or None, rest


def _cut_authority(text: str) -> tuple[str | None, int | None]:
    """Return host and port of `host:port`, `host`, `:port` or `port`, checked."""
    if _DOTTED_NUMBERS.fullmatch(text) and "." not in text:
        return None, _port(text)
    host, port = _split(text)
    if host == "" and port is not None:
        return None, _port(port)
    return _host(host), None if port is None else _port(port)


def _split(text: str) -> tuple[str, str | None]:
    """Return host and port as written; an IPv6 address keeps its brackets."""
    if text.startswith("["):
        address, bracket, rest = text.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f'expected [IPv6]:PORT, got "{text}"')
        return f"{address}]", rest[1:] if rest else None
    if text.count(":") > 1:
        raise ValueError(f'expected an IPv6 address in brackets such as "[::1]:80", got "{text}"')
    host, colon, port = text.partition(":")
    return host, port if colon else None


def _port(text: str, least: int = 0) -> int:
    if not _PORT.fullmatch(text) or not least <= int(text) <= 65535:
        raise ValueError(f'expected a port from {least} to 65535, got "{text}"')
    return int(text)


def _host(text: str) -> str:
    try:
        if text.startswith("["):
            return str(IPv6Address(text[1:-1]))
        if _DOTTED_NUMBERS.fullmatch(text):
            return str(IPv4Address(text))
    except AddressValueError:
        raise ValueError(f'expected an IP address, got "{text}"') from None
    if not _HOST.fullmatch(text) or len(text) > 253:
        raise ValueError(f'expected a host name or an IP address, got "{text}"')
    return text


@dataclass(frozen=True, slots=True)
class Upstream:
    """A host (or a glob of hosts) that faults may touch, on one port or on all."""

    host: str
    port: int | None = None

    def __str__(self) -> str:
        host = url_host(self.host)
        return host if self.port is None else f"{host}:{self.port}"

    def covers(self, host: str, port: int) -> bool:
        return (self.port is None or self.port == port) and fnmatchcase(_plain(host), self.host)


def parse_upstream(text: str) -> Upstream:
    """Return the upstream of `*`, `host`, `host:port` or `scheme://host[:port]`.

    Hosts may be globs such as `*.example.com`. A scheme without a port stands for the scheme's own port."""
    try:
        scheme, rest = _cut_upstream_scheme(text.strip())
        host, port_text = _split(rest)
        port = None if port_text is None else _port(port_text, least=1)
        if not _HOST_GLOB.fullmatch(host) or not {"*", "?"} & set(host):
            host = _host(host)
    except ValueError as error:
        raise InputError("upstream", f'{error} in "{text}"') from None
    if port is None and scheme is not None:
        port = SCHEMES[scheme].port
    return Upstream(_plain(host), port)


def _cut_upstream_scheme(text: str) -> tuple[str | None, str]:
    # `?` is a wildcard here. A query is still refused, because it can only follow a path.
    scheme, rest = _cut_scheme(text.replace("?", "\0"))
    return scheme, rest.replace("\0", "?")


def _plain(host: str) -> str:
    """Return the canonical spelling of a host: no brackets, no closing dot, lower case."""
    name = host.strip("[]").removesuffix(".").lower()
    if ":" not in name:
        return name
    try:
        return str(IPv6Address(name))
    except AddressValueError:
        return name


@dataclass(frozen=True, slots=True)
class UpstreamSet:
    """The upstreams that faults may touch. The empty set covers none."""

    upstreams: tuple[Upstream, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> UpstreamSet:
        """Return the set given by repeated options, each of which may be a comma-separated list."""
        return cls(
            tuple(parse_upstream(piece) for text in texts for piece in text.split(",") if piece.strip())
        )

    @property
    def covers_all(self) -> bool:
        """Whether it covers every host and port, whatever they are."""
        return any(upstream.host == "*" and upstream.port is None for upstream in self.upstreams)

    def covers(self, host: str, port: int) -> bool:
        return any(upstream.covers(host, port) for upstream in self.upstreams)


# --- this machine: these decide whether a server may do without a token and which Host headers it accepts


LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
"""The usual names of loopback, without brackets."""
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""The same as they stand in a URL or a Host header."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_local_name(host: str) -> bool:
    """Return whether a name in a request can only mean this machine.

    Unlike `is_loopback`, this includes `name.localhost` (RFC 6761, section 6.3) and a closing dot."""
    name = host.lower().removesuffix(".")
    return name.endswith(".localhost") or is_loopback(name)


def stays_here(host: str) -> bool:
    """Return whether a connection to `host` stays on the machine that makes it: loopback, or an address such
    as 0.0.0.0, which is for servers to listen on."""
    try:
        return ip_address(host).is_unspecified or is_loopback(host)
    except ValueError:
        return is_local_name(host)


def url_host(host: str) -> str:
    """Return a host as it stands in a URL: an IPv6 address in brackets (RFC 3986 §3.2.2)."""
    return f"[{host}]" if ":" in host else host
