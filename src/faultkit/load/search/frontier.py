"""The frontier of two settings: which pairs of values hold, and which are broken. Pure.

The values of both settings make a grid. Harm only grows along both, so a pair that holds shows that all less
harmful pairs hold, and one that is broken shows that all more harmful pairs are. The frontier is then found
by halving each row between what is known, so that most pairs of the grid need no requests. A pair is decided
as a level is, and one that stays undecided is drawn so. All decisions together are right with `CONFIDENCE`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from typing import TypeAlias

from faultkit.base.sample_statistics import CONFIDENCE
from faultkit.load.search.levels import Level, LevelMeter, fewest_of_level
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Goal, LevelResult, Measured, Outcome, SearchEnded
from faultkit.load.search.share_evidence import Decision

GRID = 9
"""The most values of each setting."""
_FOR_HARMLESS = 0.1
"""The largest part of the budget that the harmless pair may take."""
_TO_LEARN = 0.03
"""The part of the budget that it takes at least, to learn for how long requests are alike."""
_FOR_PAIRS = 0.3
"""The part of the budget that pairs of a path along the frontier may take at first, evenly."""
_MORE = 1.5
"""How many times the requests that may decide a pair it is given at most, once all rows were measured."""
_FOR_CORNERS = 0.2
"""The largest part of the budget that is kept to measure the corners again."""
_CORNERS = 4

_CONTRADICTION = (
    "Pairs contradict each other: more harm does not always make it worse, or the service changed."
)
_HARMLESS_UNDECIDED = "The pair of both harmless ends could not be decided."
_NONE_BROKEN = "No pair is shown to be broken, and that of both harmful ends could not be decided."
_NO_BUDGET = "The budget was spent before each pair was measured or followed from others."

Cell: TypeAlias = tuple[int, int]
"""The numbers of the values of both settings, from harmless to harmful."""
Decisions: TypeAlias = tuple[tuple[Decision, ...], ...]
"""For each value of the first setting, the decision at each value of the second."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of two settings, each from harmless to harmful."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def pairs(self) -> int:
        return len(self.first) * len(self.second)

    @property
    def most_measured(self) -> int:
        """How many pairs are measured at most."""
        return min(self.pairs, len(self.first) * (ceil(log2(len(self.second))) + 2))

    @property
    def harmful(self) -> Cell:
        return len(self.first) - 1, len(self.second) - 1

    def values(self, cell: Cell) -> tuple[float, float]:
        """Return the values of a pair."""
        return self.first[cell[0]], self.second[cell[1]]

    def rows(self) -> Iterator[Iterator[Cell]]:
        """Yield the pairs of each value of the first setting."""
        for row in range(len(self.first)):
            yield ((row, column) for column in range(len(self.second)))


def grid_of(first: Scale, second: Scale, size: int = GRID) -> Grid:
    """Return evenly spaced values of both settings, at most `size` of each and no closer than they mean
    something."""
    return Grid(_values_of(first, size), _values_of(second, size))


def _values_of(scale: Scale, size: int) -> tuple[float, ...]:
    last = min(size - 1, scale.steps)
    values = (scale.value(scale.steps * number / last) for number in range(last + 1))
    # Several positions may have the same whole number.
    return tuple(dict.fromkeys(values))


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Requests to be sent at one pair of values."""

    values: tuple[float, float]
    requests: int
    cell: Cell
    known: Decisions
    """What is known of all pairs so far."""
    spent: float
    """The part of the budget that is used, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """What is known of one pair of values."""

    values: tuple[float, float]
    decision: Decision
    seen: LevelResult | None
    """What was measured; None if nothing was: a decision then follows from that of another pair."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The result of a search of two settings."""

    outcome: Outcome
    reason: str
    """Why it is inconclusive, or why pairs were not measured; empty if there is nothing to add."""
    grid: Grid
    rows: tuple[tuple[PairResult, ...], ...]
    """For each value of the first setting, all values of the second."""
    requests: int
    wanted: int | None = None
    """A budget in requests that may decide what this one could not."""


FrontierSearch: TypeAlias = Generator[PairBlock, Measured, Frontier]


def error_of_pair(grid: Grid) -> float:
    """Return the probability with which a single decision may be wrong."""
    return (1 - CONFIDENCE) / grid.most_measured


def fewest_of_frontier(grid: Grid, goals: Sequence[Goal]) -> int:
    """Return the smallest budget that makes sense: it decides a frontier whose pairs are all clear."""
    rows, columns = len(grid.first), len(grid.second)
    pairs = rows + columns + max(rows, columns, _CORNERS)
    return pairs * fewest_of_level(goals, error_of_pair(grid))


def find_frontier(grid: Grid, goals: Sequence[Goal], budget: int) -> FrontierSearch:
    """Search which pairs of values hold, with a budget of requests."""
    return (yield from _Run(grid, LevelMeter(tuple(goals), budget, error_of_pair(grid))).search())


@dataclass(slots=True)
class _Run:
    grid: Grid
    meter: LevelMeter
    pairs: dict[Cell, Level] = field(default_factory=dict)

    def search(self) -> FrontierSearch:
        try:
            return (yield from self._searched())
        except SearchEnded as ended:
            return self._result("inconclusive", str(ended))

    def _searched(self) -> FrontierSearch:
        budget = self.meter.budget
        harmless = yield from self._decided((0, 0), _FOR_HARMLESS * budget, _TO_LEARN * budget)
        if harmless == "broken":
            return self._result("already_broken", "")
        if harmless == "undecided":
            wanted = max(ceil(self.meter.wanted(self.pairs[0, 0]) / _FOR_HARMLESS), ceil(2 * budget))
            return self._result("inconclusive", _HARMLESS_UNDECIDED, wanted)
        for row in _from_the_middle(len(self.grid.first)):
            yield from self._halve(row)
        yield from self._decide_more()
        if (yield from self._contradicted()):
            return self._result("inconclusive", _CONTRADICTION)
        return self._judged()

    def _halve(self, row: int) -> Generator[PairBlock, Measured, None]:
        """Find the frontier in a row, as far as the budget allows."""
        while (cell := self._middle_of_unknown(row)) is not None:
            # More measured pairs than were counted on would make an error likelier than it may be.
            if self._left < self.meter.fewest or len(self.pairs) >= self.grid.most_measured:
                return
            yield from self._decided(cell, min(self._left, self._at_first))

    def _decide_more(self) -> Generator[PairBlock, Measured, None]:
        """Spend what is left of the budget on undecided pairs, those first that are the closest to a
        decision: the test stays valid."""
        while True:
            wanted = {
                cell: self.meter.wanted(level) - level.requests
                for cell, level in self.pairs.items()
                if level.decision == "undecided" and self._known(cell) == "undecided"
            }
            cell = min(wanted, key=lambda each: wanted[each], default=None)
            if cell is None or max(wanted[cell], self.meter.fewest / 2) > self._left:
                return
            level = self.pairs[cell]
            more = max(_MORE * wanted[cell], self.meter.fewest / 2)
            yield from self._measured(cell, level, level.spent + min(self._left, more))

    @property
    def _left(self) -> float:
        """What is left of the budget, besides what the corners take at the end."""
        meter = self.meter
        return meter.budget - meter.spent - min(_CORNERS * meter.fewest, _FOR_CORNERS * meter.budget)

    @property
    def _at_first(self) -> float:
        """What a pair may take before others had their turn."""
        path = len(self.grid.first) + len(self.grid.second)
        return max(_FOR_PAIRS * self.meter.budget / path, self.meter.fewest)

    def _middle_of_unknown(self, row: int) -> Cell | None:
        """Return the pair in the middle of those of a row that are neither known nor measured."""
        unknown = [
            (row, column)
            for column in range(len(self.grid.second))
            if (row, column) not in self.pairs and self._known((row, column)) == "undecided"
        ]
        return unknown[len(unknown) // 2] if unknown else None

    def _contradicted(self) -> Generator[PairBlock, Measured, bool]:
        """Measure the corners of the grid once more: what follows from others, or was seen before, must hold
        there, too."""
        row, column = self.grid.harmful
        for corner in ((0, 0), (0, column), (row, 0), (row, column)):
            known = self._known(corner)
            found = yield from self._measured(corner, self.meter.new_level(), self._at_first)
            if {known, found} == {"held", "broken"}:
                return True
        return False

    def _decided(
        self, cell: Cell, most: float, to_learn: float = 0.0
    ) -> Generator[PairBlock, Measured, Decision]:
        self.pairs[cell] = self.meter.new_level()
        return (yield from self._measured(cell, self.pairs[cell], most, to_learn))

    def _measured(
        self, cell: Cell, level: Level, most: float, to_learn: float = 0.0
    ) -> Generator[PairBlock, Measured, Decision]:
        values, known, meter = self.grid.values(cell), self._decisions(), self.meter
        return (
            yield from meter.decided(
                level,
                lambda requests: PairBlock(values, requests, cell, known, meter.part_spent),
                most,
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

    def _decisions(self) -> Decisions:
        return tuple(tuple(map(self._known, row)) for row in self.grid.rows())

    # --- results -----------------------------------------------------------------------------

    def _judged(self) -> Frontier:
        if self._known(self.grid.harmful) == "held":
            return self._result("holds", "")
        if not any("broken" in row for row in self._decisions()):
            wanted = ceil(2 * self.meter.budget)
            return self._result("inconclusive", _NONE_BROKEN, wanted)
        rows = range(len(self.grid.first))
        is_short = any(self._middle_of_unknown(row) is not None for row in rows)
        return self._result("found", _NO_BUDGET if is_short else "")

    def _result(self, outcome: Outcome, reason: str, wanted: int | None = None) -> Frontier:
        rows = tuple(tuple(map(self._pair_result, row)) for row in self.grid.rows())
        return Frontier(outcome, reason, self.grid, rows, self.meter.requests, wanted)

    def _pair_result(self, cell: Cell) -> PairResult:
        level, values = self.pairs.get(cell), self.grid.values(cell)
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
