"""What an operator says about access. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.audit.access.peers import LOOPBACK_NAMES
from faultkit.audit.access.rates import Rate
from faultkit.base.http.server import Limits

MOST_BODY_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class AccessSettings:
    anonymous: bool = True
    """Who brings nothing is let in, and may do everything. Who brings something wrong is not."""
    rate: Rate | None = None
    """Of one key or user; of those without, of one address."""
    hosts: tuple[str, ...] | None = LOOPBACK_NAMES
    """Names that we may be called by; None for any."""
    origins: tuple[str, ...] = ()
    """Pages from elsewhere that may call us."""
    most_body_bytes: int = MOST_BODY_BYTES
    public_url: str = ""
    """Where we are seen from outside, if not where we listen."""
    issuer: str = ""
    """Of tokens; empty if none are taken."""
    mcp_paths: tuple[str, ...] = ("/mcp",)

    @property
    def limits(self) -> Limits:
        return Limits(body_bytes=self.most_body_bytes)
