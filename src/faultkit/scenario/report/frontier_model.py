"""The result of a search of two settings, as a report has it. Its fields are keys of `results.json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.load.search.scale import Spacing
from faultkit.load.search.search_values import Outcome
from faultkit.load.search.share_evidence import Decision


@dataclass(frozen=True, slots=True)
class FrontierSetting:
    """One of the two settings."""

    setting: str
    """As the file names it."""
    unit: str
    spacing: Spacing
    values: tuple[float, ...]
    """The values of the map, from harmless to harmful; the harmful end may be the smaller number."""

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise ValueError(f"values: expected at least 2, got {len(self.values)}")


@dataclass(frozen=True, slots=True)
class FrontierPair:
    """A pair of values, and what is known of it."""

    first: float
    second: float
    decision: Decision
    requests: int
    """Requests that were sent at this pair; 0: a decision follows from that of another pair."""
    good: int
    """Good requests, by the objective that was closest to being missed."""
    low: float | None
    """Bounds of the share of good requests, in percent; None without requests."""
    high: float | None
    objective: str | None
    """The title of that objective."""
    share: float | None
    """The share of good requests that it asks for, in percent."""


@dataclass(frozen=True, slots=True)
class FrontierReport:
    """At which pairs of values the objectives of an item hold."""

    first: FrontierSetting
    second: FrontierSetting
    outcome: Outcome
    reason: str
    """Why it is inconclusive, or why pairs were not measured; empty if there is nothing to add."""
    pairs: tuple[FrontierPair, ...]
    """For each value of the first setting, all values of the second."""
    objectives: tuple[str, ...]
    """The titles of all objectives."""
    requests: int
    budget_requests: int
    budget_s: float | None
    """None if the budget was given in requests."""
    spent_s: float
    wanted_requests: int | None = None
    """A budget that may decide what this one could not."""
    wanted_s: float | None = None
    """The same in seconds, at the rate of the search."""

    def __post_init__(self) -> None:
        wanted = len(self.first.values) * len(self.second.values)
        if len(self.pairs) != wanted:
            raise ValueError(f"pairs: expected {wanted}, one for each pair of values, got {len(self.pairs)}")

    def rows(self) -> Iterator[tuple[FrontierPair, ...]]:
        """Yield the pairs of each value of the first setting."""
        width = len(self.second.values)
        for start in range(0, len(self.pairs), width):
            yield self.pairs[start : start + width]

    def columns(self) -> Iterator[tuple[FrontierPair, ...]]:
        """Yield the pairs of each value of the second setting."""
        width = len(self.second.values)
        for start in range(width):
            yield self.pairs[start::width]

    def count(self, decision: Decision) -> int:
        """Return how many pairs have a decision."""
        return sum(pair.decision == decision for pair in self.pairs)
