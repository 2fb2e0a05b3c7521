"""Levels of a setting, measured until the sequential test decides them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TypeVar

from faultkit.base.sample_statistics import CONFIDENCE, percentile
from faultkit.load.search.search_values import Goal, LevelResult, Measured
from faultkit.load.search.share_evidence import (
    INDEPENDENT,
    Decision,
    decide,
    dependence,
    effective_counts,
    evidence_broken,
    evidence_held,
    fewest_requests,
    share_bounds,
)

B = TypeVar("B")
"""What is asked for: so many requests, at one value or at several."""

_GROWTH = 0.5
"""The largest part by which the requests of a level grow before it is looked at again."""


@dataclass(slots=True)
class Level:
    """What was measured at one level."""

    times: tuple[list[float], ...]
    """For each goal."""
    decision: Decision = "undecided"
    spent: float = 0.0

    @property
    def requests(self) -> int:
        return len(self.times[0])


def fewest_of_level(goals: Sequence[Goal], error: float) -> int:
    """Return how many requests decide a level at best, each decision with this probability of error."""
    return max(fewest_requests(goal.share, error / len(goals)) for goal in goals)


@dataclass(slots=True)
class LevelMeter:
    """Measures levels with one budget."""

    goals: tuple[Goal, ...]
    budget: float
    error: float
    """The probability with which a decision of one level may be wrong."""
    spent: float = 0.0
    requests: int = 0
    alike: float = 1.0
    """How many requests in a row carry the information of one."""

    @property
    def part_spent(self) -> float:
        """The part of the budget that is used, from 0 to 1."""
        return min(1.0, self.spent / self.budget)

    @property
    def fewest(self) -> float:
        """How many requests decide a level at best."""
        return max(fewest_of_level(self.goals, self.error), INDEPENDENT * self.alike)

    def new_level(self) -> Level:
        """Return a level without measurements."""
        return Level(tuple([] for _ in self.goals))

    def take(self, level: Level, measured: Measured) -> None:
        """Add what was measured at a level."""
        for own, new in zip(level.times, measured.times, strict=True):
            own.extend(new)
        level.spent += measured.cost
        self.spent += measured.cost
        self.requests += len(measured.times[0])

    def decided(
        self, level: Level, ask: Callable[[int], B], most: float, to_learn: float = 0.0
    ) -> Generator[B, Measured, Decision]:
        """Measure a level until it is decided, or has cost `most`.

        `ask` makes the block of so many requests. `to_learn` is the least number of them, to learn for how
        long requests are alike."""
        fewest = fewest_of_level(self.goals, self.error)
        size = max(self.fewest, to_learn)
        while level.decision == "undecided":
            room = min(most - level.spent, self.budget - self.spent)
            if room < 1:
                break
            # What is left over must be enough for another look.
            requests = size if room - size >= fewest / 2 else room
            self.take(level, (yield ask(ceil(requests))))
            # Long stretches of one kind may be missing here, and have been seen at another level.
            alike = (dependence(own, goal.limit) for goal, own in zip(self.goals, level.times, strict=True))
            self.alike = max(self.alike, *alike)
            needed = max(INDEPENDENT * self.alike, to_learn)
            if level.requests >= needed:
                level.decision = self.decision(level)
            more = min(_GROWTH * level.requests, self.wanted(level) - level.requests)
            size = max(fewest / 2, needed - level.requests, more)
        return level.decision

    def decision(self, level: Level) -> Decision:
        """Decide by all goals: held if each of them is, broken if one is."""
        error = self.error / len(self.goals)
        found = [
            decide(effective_counts([goal.is_good(time) for time in own], error), goal.share, error)
            for goal, own in zip(self.goals, level.times, strict=True)
        ]
        if "broken" in found:
            return "broken"
        return "held" if all(each == "held" for each in found) else "undecided"

    def wanted(self, level: Level) -> float:
        """Return about how many requests decide a level, from how fast its evidence has grown."""
        enough, wanted = -log(self.error), 0.0
        for goal, own in zip(self.goals, level.times, strict=True):
            counts = effective_counts([goal.is_good(time) for time in own], self.error)
            evidence = max(evidence_held(counts, goal.share), evidence_broken(counts, goal.share), 0.0)
            # The mixture costs the evidence of a few requests at the beginning.
            wanted = max(wanted, len(own) * (enough + 2) / (evidence + 2))
        return wanted

    def result(self, level: Level, value: float) -> LevelResult:
        """Return what was seen at a level, by the goal that is the nearest to being missed."""
        flags = [
            [goal.is_good(time) for time in own] for goal, own in zip(self.goals, level.times, strict=True)
        ]
        spare = [sum(own) / level.requests - goal.share for goal, own in zip(self.goals, flags, strict=True)]
        number = spare.index(min(spare))
        share = self.goals[number].share
        return LevelResult(
            value=value,
            decision=level.decision,
            requests=level.requests,
            good=sum(flags[number]),
            goal=number,
            bounds=share_bounds(effective_counts(flags[number], self.error), share, 1 - CONFIDENCE),
            figure=percentile(sorted(level.times[number]), 100 * share),
        )
