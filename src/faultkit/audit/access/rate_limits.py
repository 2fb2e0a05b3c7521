"""Rate limits per caller, and the address that unauthenticated callers are counted by. Pure.

A token bucket holds as many tokens as the rate names, and fills evenly. Only the time at which a bucket
will be full again is stored, so callers with a full bucket take no memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

RATE_FORM = 'a rate such as "100/s", "600/m" or "5000/h"'
_MOST_BUCKETS = 10_000
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_RATE = re.compile(r"([1-9]\d{0,8})/([smh])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of calls per period."""

    calls: int
    """Also the size of a burst after a pause."""
    per_s: int
    """Length of the period in seconds."""

    @property
    def each_s(self) -> float:
        """Seconds that one call is worth."""
        return self.per_s / self.calls


def parse_rate(text: str) -> Rate:
    """Return the rate that a text such as "100/s" names. Raises ValueError."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'expected {RATE_FORM}, got "{text[:60]}"')
    return Rate(int(match[1]), _SECONDS[match[2]])


class RateLimiter:
    """Token buckets of all callers, by name."""

    def __init__(self, rate: Rate, most: int = _MOST_BUCKETS) -> None:
        """`most`: number of buckets that are kept."""
        self._each_s = rate.each_s
        self._fills_s = float(rate.per_s)
        self._most = most
        self._full_at_s: dict[str, float] = {}

    def take(self, who: str, now_s: float) -> float:
        """Take a token and return 0.0, or return in how many seconds there will be one."""
        full_at_s = max(self._full_at_s.get(who, 0.0), now_s) + self._each_s
        missing_s = full_at_s - now_s - self._fills_s
        # The tolerance covers the rounding errors of a sum of many small steps.
        if missing_s > 1e-6 * self._each_s:
            return missing_s
        self._full_at_s[who] = full_at_s
        if len(self._full_at_s) > self._most:
            self._forget(now_s)
        return 0.0

    def _forget(self, now_s: float) -> None:
        """Drop full buckets, and the fullest of the others, down to half of the limit."""
        emptiest = sorted(self._full_at_s.items(), key=lambda each: -each[1])[: self._most // 2]
        self._full_at_s = {who: full_at_s for who, full_at_s in emptiest if full_at_s > now_s}


@lru_cache(maxsize=4096)
def address_of(peer: str) -> str:
    """Return the address of a peer without its port. An IPv6 user owns a /64, which counts as one address."""
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
