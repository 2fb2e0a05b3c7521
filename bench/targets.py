"""The targets of pass-through as one table, and the verdict on measured figures."""

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
    """The figure is ours divided by this relay's; None: our figure as it is."""
    limit: float


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
    Target("CPU per request, 64 connections, × nginx", "requests-64", "cpu_us", "nginx", 1.4),
    Target("CPU per GB, × haproxy", "bulk", "cpu_s_per_gb", "haproxy", 1.3),
    Target("CPU per new connection, × haproxy", "connect", "cpu_us", "haproxy", 1.5),
    Target("KB per idle connection", "idle", "kb", None, 3.0),
)


def judge(figures: Figures, targets: tuple[Target, ...] = TARGETS, subject: str = OURS) -> list[Verdict]:
    return [Verdict(target, _figure(figures, target, subject)) for target in targets]


def _figure(figures: Figures, target: Target, subject: str) -> float | None:
    relays = figures.get(target.cell, {})
    ours = relays.get(subject, {}).get(target.metric)
    if ours is None or target.peer is None:
        return ours
    peer = relays.get(target.peer, {}).get(target.metric)
    return ours / peer if peer else None
