"""Whose a connection is, as far as its address tells. Pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@lru_cache(maxsize=4096)
def address_of(peer: str) -> str:
    """Without its port. A user of IPv6 has a whole /64 of addresses, which count as one."""
    host = peer.rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    if isinstance(address, IPv6Address) and not address.is_loopback:
        return str(ip_network((int(address) >> 64 << 64, 64)).network_address) + "/64"
    return host


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
