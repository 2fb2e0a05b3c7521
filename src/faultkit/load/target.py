"""What a load sends, and the way there. Plain data, read by the engine."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.address import Endpoint


@dataclass(frozen=True, slots=True)
class Target:
    method: str
    url: str
    """Absolute; its scheme is http or https."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout_s: float = 30.0
    """For the whole request: resolving, connecting, sending, and the answer to its last byte."""
    proxy: Endpoint | None = None
    """An HTTP proxy: plain requests in absolute form, https through CONNECT."""
    connect_to: Endpoint | None = None
    """Connect here instead of to the URL's host, and in clear text; the request itself stays the same."""
    verify: bool = True
    """Check the server's certificate."""
