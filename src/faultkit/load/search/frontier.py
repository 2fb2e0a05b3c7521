"""The frontier of two settings: which pairs of values hold, and which are broken. Pure.

The values of both settings make a grid. Harm only grows along both, so a pair that holds shows that all less
harmful pairs hold, and one that is broken shows that all more harmful pairs are. The frontier is then found
by halving each row between what is known, so that most pairs of the grid need no requests. A pair is decided
as a level is, and one that stays undecided is drawn so.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from typing import TypeAlias

from faultkit.base.sample_statistics import CONFIDENCE
from faultkit.load.search.levels import Level, LevelMeter, fewest_of_level
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Goal, LevelResult, Measured, SearchEnded
from faultkit.load.search.share_evidence import Decision

GRID = 9
"""Values of each setting."""
_FOR_CELL = 0.05
"""The largest part of the budget that a pair may take."""
_TO_LEARN = 0.03
"""The part of the budget for the harmless pair, to learn for how long requests are alike."""

_CONTRADICTION = (
    "Pairs contradict each other: more harm does not always make it worse, or the service changed."
)

Cell: TypeAlias = tuple[int, int]
"""The numbers of the values of both settings, from harmless to harmful."""


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Requests to be sent at one pair of values."""

    values: tuple[float, float]
    requests: int
    spent: float
    """The part of the budget that is used, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """What is known of one pair of values."""

    values: tuple[float, float]
    decision: Decision
    seen: LevelResult | None
    """What was measured; None if the decision follows from that of another pair."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The result: rows of the first setting, each with all values of the second."""

    rows: tuple[tuple[PairResult, ...], ...]
    requests: int
    reason: str = ""
    """Why it is inconclusive; empty if it is not."""


FrontierSearch: TypeAlias = Generator[PairBlock, Measured, Frontier]


def most_pairs(size: int) -> int:
    """Return how many pairs are measured at most."""
    return size * (ceil(log2(size)) + 2)


def error_of_pair(size: int) -> float:
    """Return the probability with which a single decision may be wrong."""
    return (1 - CONFIDENCE) / most_pairs(size)


def fewest_of_frontier(goals: Sequence[Goal], size: int = GRID) -> int:
    """Return the smallest budget that makes sense: it decides one clear pair for each value."""
    return 2 * size * fewest_of_level(goals, error_of_pair(size))


def find_frontier(
    first: Scale, second: Scale, goals: Sequence[Goal], budget: int, size: int = GRID
) -> FrontierSearch:
    """Search which pairs of values hold, with a budget of requests."""
    return (
        yield from _Run(first, second, LevelMeter(tuple(goals), budget, error_of_pair(size)), size).search()
    )


@dataclass(slots=True)
class _Run:
    first: Scale
    second: Scale
    meter: LevelMeter
    size: int
    pairs: dict[Cell, Level] = field(default_factory=dict)

    def search(self) -> FrontierSearch:
        try:
            return (yield from self._searched())
        except SearchEnded as ended:
            return self._result(str(ended))

    def _searched(self) -> FrontierSearch:
        harmless = yield from self._decided((0, 0), _TO_LEARN * self.meter.budget)
        if harmless != "held":
            reason = "is broken" if harmless == "broken" else "could not be decided"
            return self._result(f"The pair of both harmless ends {reason}.")
        for row in _from_the_middle(self.size):
            yield from self._halve(row)
        contradicted = yield from self._contradicted()
        return self._result(_CONTRADICTION if contradicted else "")

    def _halve(self, row: int) -> Generator[PairBlock, Measured, None]:
        """Find the frontier in a row."""
        while True:
            known = [self._known((row, column)) for column in range(self.size)]
            unknown = [
                column
                for column, decision in enumerate(known)
                if decision == "undecided" and (row, column) not in self.pairs
            ]
            if not unknown or self.meter.spent >= self.meter.budget:
                return
            yield from self._decided((row, unknown[len(unknown) // 2]), 0.0)

    def _contradicted(self) -> Generator[PairBlock, Measured, bool]:
        """Measure the corners of the grid once more: what follows from others, or was seen before, must hold
        there, too."""
        last = self.size - 1
        for corner in ((0, 0), (0, last), (last, 0), (last, last)):
            known = self._known(corner)
            found = yield from self._measured(corner, self.meter.new_level(), 0.0)
            if {known, found} == {"held", "broken"}:
                return True
        return False

    def _decided(self, cell: Cell, to_learn: float) -> Generator[PairBlock, Measured, Decision]:
        self.pairs[cell] = self.meter.new_level()
        return (yield from self._measured(cell, self.pairs[cell], to_learn))

    def _measured(
        self, cell: Cell, level: Level, to_learn: float
    ) -> Generator[PairBlock, Measured, Decision]:
        values, meter = self._values(cell), self.meter
        return (
            yield from meter.decided(
                level,
                lambda requests: PairBlock(values, requests, meter.part_spent),
                _FOR_CELL * meter.budget,
                to_learn,
            )
        )

    def _known(self, cell: Cell) -> Decision:
        """Return what is known of a pair, from itself and from all others."""
        for other, level in self.pairs.items():
            if level.decision == "held" and other[0] >= cell[0] and other[1] >= cell[1]:
                return "held"
            if level.decision == "broken" and other[0] <= cell[0] and other[1] <= cell[1]:
                return "broken"
        return "undecided"

    def _values(self, cell: Cell) -> tuple[float, float]:
        last = self.size - 1
        return (
            self.first.value(self.first.steps * cell[0] / last),
            self.second.value(self.second.steps * cell[1] / last),
        )

    def _result(self, reason: str) -> Frontier:
        return Frontier(
            tuple(
                tuple(self._pair_result((row, column)) for column in range(self.size))
                for row in range(self.size)
            ),
            self.meter.requests,
            reason,
        )

    def _pair_result(self, cell: Cell) -> PairResult:
        level, values = self.pairs.get(cell), self._values(cell)
        seen = self.meter.result(level, values[0]) if level is not None and level.requests else None
        return PairResult(values, self._known(cell), seen)


def _from_the_middle(size: int) -> list[int]:
    """Return numbers in an order in which each halves a gap, so that much follows from the first ones."""
    order, gaps = [0, size - 1], [(0, size - 1)]
    while gaps:
        low, high = gaps.pop(0)
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return order
