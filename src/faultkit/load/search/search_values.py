"""What a search asks for, is sent, and finds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias

from faultkit.base.sample_statistics import Interval
from faultkit.load.search.share_evidence import Decision

Phase: TypeAlias = Literal["gates", "bracket", "estimate"]
Outcome: TypeAlias = Literal["found", "already_broken", "holds", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Goal:
    """An objective as the search sees it: a share of the requests must be good."""

    share: float
    """Between 0 and 1."""
    limit: float = inf
    """The longest time of a good request; `inf`: every answer is good. A failed one has an infinite time."""

    def is_good(self, time: float) -> bool:
        """Return whether a request of this time is good."""
        return time <= self.limit and time < inf


@dataclass(frozen=True, slots=True)
class Block:
    """Requests to be sent at one value of the setting."""

    value: float
    requests: int
    phase: Phase
    held: float | None = None
    """The bracket so far: the most harmful value that is shown to hold,"""
    broken: float | None = None
    """and the least harmful that is shown to be broken."""
    spent: float = 0.0
    """The part of the budget that is used, from 0 to 1."""

    @property
    def values(self) -> tuple[float]:
        return (self.value,)


class SearchEnded(Exception):
    """Thrown into a search that cannot go on: it returns what it has, inconclusive, with this text."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of a block."""

    times: tuple[Sequence[float], ...]
    """For each goal, the times of the requests in the order of their starts; infinite for failed ones."""
    cost: float
    """What it took of the budget, in requests."""


@dataclass(frozen=True, slots=True)
class LevelResult:
    """What was seen at one value."""

    value: float
    decision: Decision
    requests: int
    good: int
    """Good requests, by the goal that has the fewest above its share."""
    goal: int
    """The number of that goal."""
    bounds: Interval
    """Bounds of its share of good requests."""
    figure: float
    """Its percentile; infinite if so many failed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated breaking point."""

    value: float
    interval: Interval
    """Of 95 %, in ascending order."""


@dataclass(frozen=True, slots=True)
class BreakingPoint:
    """The result of a search."""

    outcome: Outcome
    reason: str
    """Why it is inconclusive, or why there is no estimate; empty if there is nothing to add."""
    held: float | None
    """The most harmful value that is shown to hold."""
    broken: float | None
    """The least harmful value that is shown to be broken."""
    estimate: Estimate | None
    is_cliff: bool
    goal: int
    """The number of the goal that breaks."""
    levels: tuple[LevelResult, ...]
    """From harmless to harmful."""
    requests: int
    wanted: int | None = None
    """A budget in requests that may decide what this one could not."""
