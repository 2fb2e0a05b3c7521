"""The state of a data plane at one instant, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.proxy.address import Endpoint
from faultkit.proxy.lateness import LatenessSummary


@dataclass(frozen=True, slots=True)
class ProxyCounts:
    name: str
    listen: Endpoint
    upstream: Endpoint | None
    accepted: int
    live: int
    to_upstream_bytes: int
    to_client_bytes: int
    requests: int
    """HTTP requests, where HTTP is understood."""
    injected: int
    dial_failures: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    proxies: tuple[ProxyCounts, ...]
    acting: tuple[str, ...]
    injected: dict[str, int]
    """How often each rule did something."""
    lateness: LatenessSummary
    held_bytes: int
    dropped_happenings: int
