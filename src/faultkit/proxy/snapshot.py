"""The state of a data plane at one instant, as plain data; and of several planes that share their proxies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultkit.base.address import Endpoint
from faultkit.proxy.lateness import Lateness, LatenessSummary


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
    """A rule that shuts the port counts once, at each shutting: whom the kernel then refuses, nobody sees."""
    dial_failures: int
    """Connections for which the upstream could not be had. Not those that a fault made fail."""
    own_answers: int = 0
    """Of these, requests that the forward proxy answered itself, by 502 or 504: the target said nothing."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    proxies: tuple[ProxyCounts, ...]
    acting: tuple[str, ...]
    injected: dict[str, int]
    """How often each rule did something."""
    lateness: LatenessSummary
    held_bytes: int
    dropped_happenings: int


def merge_snapshots(parts: Sequence[tuple[Snapshot, Lateness]]) -> Snapshot:
    """All counters added up, the proxies by name. Percentiles do not add up, so that each part brings its
    histogram. The planes have one plan, so that what acts in the first acts in all."""
    proxies: dict[str, ProxyCounts] = {}
    injected: Counter[str] = Counter()
    lateness = Lateness()
    for snapshot, its_lateness in parts:
        for counts in snapshot.proxies:
            known = proxies.get(counts.name)
            proxies[counts.name] = counts if known is None else _sum(known, counts)
        injected.update(snapshot.injected)
        lateness.add(its_lateness)
    return Snapshot(
        tuple(proxies.values()),
        parts[0][0].acting,
        dict(injected),
        lateness.summary(),
        sum(snapshot.held_bytes for snapshot, _ in parts),
        sum(snapshot.dropped_happenings for snapshot, _ in parts),
    )


def _sum(one: ProxyCounts, other: ProxyCounts) -> ProxyCounts:
    return replace(
        one,
        accepted=one.accepted + other.accepted,
        live=one.live + other.live,
        to_upstream_bytes=one.to_upstream_bytes + other.to_upstream_bytes,
        to_client_bytes=one.to_client_bytes + other.to_client_bytes,
        requests=one.requests + other.requests,
        injected=one.injected + other.injected,
        dial_failures=one.dial_failures + other.dial_failures,
        own_answers=one.own_answers + other.own_answers,
    )
