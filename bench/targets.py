"""The targets of the proxy as one table, and the verdict on measured figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bench.relays import OURS

Figures: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Cell, then relay, then metric: the median over all rounds."""

Word: TypeAlias = Literal["PASS", "MISS", "not measured"]


@dataclass(frozen=True, slots=True)
class Target:
    label: str
    cell: str
    metric: str
    peer: str | None
    """The figure is ours compared with this relay's; None: our figure as it is."""
    limit: float
    beside: str | None = None
    """The peer's cell, if it is another one."""
    compare: Literal["ratio", "difference"] = "ratio"


@dataclass(frozen=True, slots=True)
class Verdict:
    target: Target
    figure: float | None

    @property
    def word(self) -> Word:
        if self.figure is None:
            return "not measured"
        return "PASS" if self.figure <= self.target.limit else "MISS"


TARGETS: tuple[Target, ...] = (
    Target("CPU per request, 64 connections, × nginx", "requests-64", "cpu_us", "nginx", 1.1),
    Target("CPU per GB, × haproxy", "bulk", "cpu_s_per_gb", "haproxy", 1.1),
    Target("CPU per new connection, × haproxy", "connect", "cpu_us", "haproxy", 1.2),
    Target("round trip p50, µs above haproxy's", "rtt", "p50_us", "haproxy", 5.0, compare="difference"),
    Target("KB per idle connection", "idle", "kb", None, 3.0),
    *(
        Target(
            f"latency, {count} connections, CPU × Toxiproxy", f"latency-{count}", "cpu_us", "toxiproxy", 0.75
        )
        for count in (64, 256)
    ),
    Target("latency, CPU per new connection, × Toxiproxy", "latency-connect", "cpu_us", "toxiproxy", 0.5),
    Target("latency, added round trip at 1,000/s, × Toxiproxy", "latency-rtt", "added_us", "toxiproxy", 1.0),
    Target("1,000 delayed connections, 5,000 messages/s, cores", "latency-held", "cores", None, 1.0),
    Target("the same, µs later at the end than at first", "latency-held", "drift_us", None, 1000.0),
    *(
        Target(
            f"{fault} on each request, CPU × latency", f"{fault}-64", "cpu_us", OURS, 2.5, beside="latency-64"
        )
        for fault in ("http-delay", "http-error")
    ),
    *(
        Target(f"{label}, no rule, CPU per {unit}, × haproxy", f"{layer}{cell}", "cpu_us", "haproxy", 1.5)
        for layer, label in (
            ("tls-client", "TLS to clients"),
            ("tls-upstream", "TLS to the upstream"),
            ("tls-both", "TLS to both sides"),
        )
        for cell, unit in (("", "request"), ("-connect", "new connection"))
    ),
    Target("interception, CPU per request, × mitmproxy", "intercept", "cpu_us", "mitmproxy", 0.2),
    Target("interception, CPU per connection, × mitmproxy", "intercept-connect", "cpu_us", "mitmproxy", 0.2),
)


def judge(figures: Figures, targets: tuple[Target, ...] = TARGETS, subject: str = OURS) -> list[Verdict]:
    return [Verdict(target, _figure(figures, target, subject)) for target in targets]


def _figure(figures: Figures, target: Target, subject: str) -> float | None:
    relays = figures.get(target.cell, {})
    ours = relays.get(subject, {}).get(target.metric)
    if ours is None or target.peer is None:
        return ours
    beside = figures.get(target.beside or target.cell, {})
    peer = beside.get(target.peer, {}).get(target.metric)
    if not peer:
        return None
    return ours / peer if target.compare == "ratio" else ours - peer
