"""Limits on the load that a model may request from the impact tools: how long, how much, and to which hosts.

The load may go to this machine and to private networks, or to what an operator allows. Upstreams of proxies
are not limited here, because they receive the service's own traffic only. Pure, except for the resolver.

A name is resolved here, and again when the load engine connects. A malicious name server could change its
answer in between; for https the certificate is checked, so that such a load gets no further than the TLS
handshake.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from faultkit.base.errors import InputError, TargetError
from faultkit.base.units import LONGEST_S, format_duration

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

LOCAL = (
    *("127.0.0.0/8", "::1/128"),
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    # Connecting to these reaches this machine, and servers print them as their address.
    *("0.0.0.0/32", "::/128"),
)
"""Loopback and private addresses. Not link-local ones, where clouds serve credentials of the machine."""
NEVER_LOCAL = ("fd00:ec2::254/128", "fd20:ce::254/128")
"""Private IPv6 addresses at which clouds serve such credentials."""
TARGET_FORM = 'a host, host:port, *.suffix or a network, such as "staging.example.com" or "10.1.0.0/16"'

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?:\*|(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?)", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)

Resolve = Callable[[str, int], Sequence[str]]
"""Returns all addresses of a host; raises OSError or UnicodeError if there are none."""


def system_resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses that the system has for a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


@dataclass(frozen=True, slots=True)
class AllowedTarget:
    """Hosts or a network, on one port or on all."""

    host: str | None
    """A host, `*` for any, or `*.example.com` for all below it."""
    network: IPv4Network | IPv6Network | None
    port: int | None

    def covers_host(self, host: str, port: int) -> bool:
        if self.host is None or self.port not in (None, port):
            return False
        return self.host in ("*", host) or (self.host[:2] == "*." and host.endswith(self.host[1:]))

    def covers_address(self, address: str, port: int) -> bool:
        return self.network is not None and self.port in (None, port) and _plain(address) in self.network


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """What one impact run may do."""

    max_duration_s: float = 300.0
    """Longest run; a baseline takes as long again."""
    max_clients: int = 100
    max_rps_total: float = 500.0
    """Requests a second of all clients of a run together."""
    max_timeout_s: float = 60.0
    max_runs: int = 16
    """Runs at the same time. Each takes two processes."""
    allow_targets: tuple[str, ...] = ()
    """The values of `--allow-target`, as written."""

    def __post_init__(self) -> None:
        for text in self.allow_targets:
            parse_target(text)

    def check_load(self, duration_s: float, clients: int, rps: float, timeout_s: float = 0.0) -> None:
        """Raise InputError if a limit is exceeded, with the flag that raises the limit."""
        total = clients * rps
        for argument, value, most, text_of, unit in (
            ("duration", duration_s, self.max_duration_s, _seconds_text, ""),
            ("num_clients", clients, self.max_clients, _number_text, " clients"),
            ("rps", total, self.max_rps_total, _number_text, " requests a second of all clients together"),
            ("timeout", timeout_s, self.max_timeout_s, _seconds_text, ""),
        ):
            if value > most:
                flag = f"--max-{argument.removeprefix('num_')}"
                expected = f"expected at most {text_of(most)}{unit}, got {text_of(value)}"
                raise InputError(argument, f"{expected}. {_flag_hint(flag)}")

    def check_target(self, url: str, resolve: Resolve = system_resolve) -> None:
        """Raise InputError unless the URL's host is allowed or all its addresses are local or allowed.

        Raises TargetError for a name without an address."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or _PORTS.get(parts.scheme, 0)
        allowed = [parse_target(text) for text in self.allow_targets]
        if any(target.covers_host(host.rstrip("."), port) for target in allowed):
            return
        try:
            # With a trailing dot if there is one, because to a resolver that may be another name.
            addresses = resolve(host, port)
            if not addresses:
                raise OSError("it has no address")
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise TargetError(f"url: cannot reach {host}: the name cannot be resolved ({why})") from None
        for address in addresses:
            if not is_local(address) and not any(t.covers_address(address, port) for t in allowed):
                named = f'"{host}"' if host == address else f'"{host}" ({address})'
                raise InputError(
                    "url",
                    "expected a host on this machine or in a private network, since a load may harm others, "
                    f"got {named}. {_flag_hint(f'--allow-target {host}')}",
                )


def is_local(address: str) -> bool:
    """Return whether a load may go to this address without an operator's permission."""
    plain = _plain(address)
    return _is_in(plain, LOCAL) and not _is_in(plain, NEVER_LOCAL)


def parse_target(text: str) -> AllowedTarget:
    """Return one `--allow-target`. Raises ValueError."""
    from ipaddress import ip_network

    given = text.strip()
    try:
        # First as a whole, because an IPv6 address contains colons.
        return AllowedTarget(None, ip_network(given, strict=False), None)
    except ValueError:
        pass
    if "://" in given:
        raise ValueError(f'allow_targets: expected {TARGET_FORM}, got the URL "{text}"')
    host, port_text = _split(given)
    if port_text is not None and not (_PORT.fullmatch(port_text) and 0 < int(port_text) <= 65535):
        raise ValueError(f'allow_targets: expected a port from 1 to 65535, got "{port_text}" in "{text}"')
    port = None if port_text is None else int(port_text)
    try:
        return AllowedTarget(None, ip_network(host.strip("[]")), port)
    except ValueError:
        pass
    if not _HOST.fullmatch(host) or ".." in host or host.replace(".", "").isdigit():
        raise ValueError(f'allow_targets: expected {TARGET_FORM}, got "{text}"')
    return AllowedTarget(host.lower().rstrip("."), None, port)


def _split(text: str) -> tuple[str, str | None]:
    if text.startswith("[") and text.endswith("]"):
        return text, None
    host, colon, port = text.rpartition(":")
    return (host, port) if colon else (text, None)


def _plain(address: str) -> IPv4Address | IPv6Address:
    """Return the address without a zone, and an IPv4-mapped IPv6 address as IPv4."""
    from ipaddress import IPv6Address, ip_address

    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return found if mapped is None else mapped


def _is_in(address: IPv4Address | IPv6Address, networks: Sequence[str]) -> bool:
    from ipaddress import ip_network

    return any(address in ip_network(network) for network in networks)


def _seconds_text(seconds: float) -> str:
    return format_duration(seconds) if 0 <= seconds <= LONGEST_S else f"{seconds:g}s"


def _number_text(number: float) -> str:
    return f"{number:g}"


def _flag_hint(flag: str) -> str:
    """Return the sentence that says which flag raises a limit."""
    return f"This is a limit of the server; its operator raises it with `fault agent tool {flag}`"
