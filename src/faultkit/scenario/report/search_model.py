"""The result of a search for a breaking point, as a report has it. Its fields are keys of `results.json`."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.load.search.scale import Spacing
from faultkit.load.search.search_values import Outcome
from faultkit.load.search.share_evidence import Decision


@dataclass(frozen=True, slots=True)
class SearchLevel:
    """One value of the setting, and what was seen there while the bracket was found."""

    value: float
    decision: Decision
    requests: int
    good: int
    """Good requests, by the objective that was closest to being missed."""
    low: float
    """Bounds of the share of good requests, in percent."""
    high: float
    objective: str
    """The title of that objective."""
    share: float
    """The share of good requests that it asks for, in percent."""


@dataclass(frozen=True, slots=True)
class SearchReport:
    """Where the objectives of an item break."""

    setting: str
    """The setting that was searched, as the file names it."""
    unit: str
    harmless: float
    """The ends of the range; the harmful one may be the smaller number."""
    harmful: float
    spacing: Spacing
    whole: bool
    """Whether its values are whole numbers."""
    outcome: Outcome
    reason: str
    """Why it is inconclusive, or why there is no estimate; empty if there is nothing to add."""
    held: float | None
    """The most harmful value that is shown to hold, rounded to the harmless side."""
    broken: float | None
    """The least harmful value that is shown to be broken, rounded to the harmful side."""
    estimate: float | None
    low: float | None
    """The interval of 95 % of the estimate, rounded outwards, in ascending order."""
    high: float | None
    is_cliff: bool
    objectives: tuple[str, ...]
    """The titles of all objectives."""
    broken_objective: str | None
    """The title of the one that breaks first."""
    levels: tuple[SearchLevel, ...]
    """From harmless to harmful."""
    requests: int
    budget_requests: int
    budget_s: float | None
    """None if the budget was given in requests."""
    spent_s: float
    wanted_requests: int | None = None
    """A budget that may decide what this one could not."""
    wanted_s: float | None = None
    """The same in seconds, at the rate of the search."""
    breaks_above: float | None = None
    """The value up to which the objectives were expected to hold."""

    def harm(self, value: float) -> float:
        """Return how far a value is from the harmless end, in the direction of the harmful one."""
        return value - self.harmless if self.harmful > self.harmless else self.harmless - value
