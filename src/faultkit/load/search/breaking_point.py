"""The search for the breaking point of one setting. Pure: it asks for measurements and is sent them.

The search is a generator. It yields a `Block`, so many requests at one value of the setting, and is sent a
`Measured`, what became of them. The code that drives it may run a load or a simulation.

1. Gates: the harmless end must be shown to hold, and the harmful end to be broken.
2. Bracket: halving between the most harmful level that is shown to hold and the least harmful one that is
   shown to be broken. Only the sequential test decides a level. One that stays undecided is not classified;
   the search closes in on it from both sides. All decisions together are right with `CONFIDENCE`, because
   each may be wrong with only a part of the rest (Bonferroni).
3. Estimate: five levels around the bracket and the harmless end, in shuffled rounds, give the crossing and
   its interval, and show whether the service changed meanwhile, or answers otherwise when asked again.

In the terms of RFC 9971 (MLRsearch), `held` and `broken` are the relevant lower and upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import ceil, isinf, log2
from typing import TypeAlias

from faultkit.base.rng import Rng
from faultkit.base.sample_statistics import CONFIDENCE, Interval, percentile, percentile_interval
from faultkit.load.search.crossing import Crossing, Stretches, figure_of, find_crossing
from faultkit.load.search.levels import Level, LevelMeter, fewest_of_level
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import (
    Block,
    BreakingPoint,
    Estimate,
    Goal,
    Measured,
    Outcome,
    Phase,
    SearchEnded,
)
from faultkit.load.search.share_evidence import effective_counts, share_bounds

Search: TypeAlias = Generator[Block, Measured, BreakingPoint]

_FOR_GATE = 0.3
"""The largest part of the budget that a gate may take."""
_TO_LEARN = 0.05
"""The part of the budget that each gate takes at least, to learn for how long requests are alike."""
_FOR_BRACKET = 0.6
"""The part of the budget for gates and bracket; the rest is for the estimate."""
_FOR_LEVEL = 0.25
"""The largest part of what is left for the bracket that one level may take."""
_MOST_UNDECIDED = 6
"""Levels inside the bracket that stay undecided before it is taken as it is."""
_ROUNDS = 5
_MOST_STRETCHES = 20
"""Stretches of a level of the estimate, if they can be long enough:"""
_STRETCH = 2
"""so many times as long as requests are alike."""
_FEWEST_STRETCHES = 8
_CLIFF = 5.0
"""A curve that is this many times as steep around the bracket as elsewhere is a cliff,"""
_WIDEST_CLIFF = 1 / 8
"""if the bracket is at most this part of the range: a wider one does not show that it breaks at once."""
_JUMP = 0.75
"""The part of the requests that goes bad between two levels of a whole range that breaks at once."""
_SURE = 0.999
"""The confidence with which a change of the service is claimed."""

_INCONSISTENT = "Levels that were measured twice contradict each other."
_DRIFT = "The service changed during the search: its harmless end is not what it was at the beginning."
_DISAGREEMENT = "The estimate lies outside of the bracket."
_IS_CLIFF = "It breaks at once and not by degrees, so there is no estimate besides the bracket."
_WIDE = "It breaks steeply there, so there is no estimate; a larger budget shows whether it breaks at once."
_NO_BUDGET = "The budget is too small for an estimate."
_NO_CROSSING = "The levels around the bracket do not show where it breaks."


def most_levels(scale: Scale) -> int:
    """Return how many levels a search decides at most: gates, halvings, and some that stay undecided."""
    return 2 + ceil(log2(scale.steps)) + 2 * _MOST_UNDECIDED


def error_of_level(scale: Scale) -> float:
    """Return the probability with which a single decision may be wrong."""
    return (1 - CONFIDENCE) / most_levels(scale)


def fewest_of_search(scale: Scale, goals: Sequence[Goal]) -> int:
    """Return the smallest budget with which the gates can be decided, in requests."""
    return ceil(fewest_of_level(goals, error_of_level(scale)) / _FOR_GATE)


def find_breaking_point(scale: Scale, goals: Sequence[Goal], budget: int, seed: int | str = 0) -> Search:
    """Search for the value from which on one of the goals is missed, with a budget of requests."""
    run = _Run(scale, LevelMeter(tuple(goals), budget, error_of_level(scale)), seed)
    return (yield from run.search())


@dataclass(slots=True)
class _Run:
    """One search."""

    scale: Scale
    meter: LevelMeter
    seed: int | str
    levels: dict[float, Level] = field(default_factory=dict)
    """Levels of gates and bracket, by position."""

    def search(self) -> Search:
        try:
            return (yield from self._searched())
        except SearchEnded as ended:
            return self._result("inconclusive", str(ended))

    def _searched(self) -> Search:
        lowest = yield from self._decided(0.0, "gates", _FOR_GATE * self.meter.budget)
        if lowest.decision != "held":
            return self._gate_failed(lowest, "already_broken")
        highest = yield from self._decided(float(self.scale.steps), "gates", _FOR_GATE * self.meter.budget)
        if highest.decision != "broken":
            return self._gate_failed(highest, "holds")
        yield from self._close_in(_FOR_BRACKET * self.meter.budget)
        return (yield from self._estimated())

    # --- levels ------------------------------------------------------------------------------

    def _decided(self, position: float, phase: Phase, most: float) -> Generator[Block, Measured, Level]:
        """Measure a level until it is decided, or has cost `most`."""
        level = self.levels.setdefault(position, self.meter.new_level())
        to_learn = _TO_LEARN * self.meter.budget if phase == "gates" else 0.0
        yield from self.meter.decided(level, partial(self._block, position, phase), most, to_learn)
        return level

    def _block(self, position: float, phase: Phase, requests: int) -> Block:
        held, broken = (None if each is None else self.scale.value(each) for each in self._bracket())
        return Block(self.scale.value(position), requests, phase, held, broken, self.meter.part_spent)

    # --- bracket -----------------------------------------------------------------------------

    def _bracket(self) -> tuple[float | None, float | None]:
        held = [position for position, level in self.levels.items() if level.decision == "held"]
        broken = [position for position, level in self.levels.items() if level.decision == "broken"]
        return max(held, default=None), min(broken, default=None)

    def _closed_bracket(self) -> tuple[float, float]:
        held, broken = self._bracket()
        assert held is not None
        assert broken is not None
        return held, broken

    def _close_in(self, until: float) -> Generator[Block, Measured, None]:
        """Narrow the bracket, until it is one step wide, or the budget or the levels are used up."""
        while (position := self._next_position()) is not None:
            left, fewest = until - self.meter.spent, self.meter.fewest
            if left < fewest:
                return
            yield from self._decided(position, "bracket", max(_FOR_LEVEL * left, min(2 * fewest, left)))

    def _next_position(self) -> float | None:
        """Return the middle of the wider gap beside the undecided levels; None if nothing is to gain."""
        held, broken = self._closed_bracket()
        undecided = sorted(
            position
            for position, level in self.levels.items()
            if level.decision == "undecided" and held < position < broken
        )
        if held >= broken or len(undecided) >= _MOST_UNDECIDED:
            return None
        ends = [held, *undecided, broken]
        low, high = max((ends[0], ends[1]), (ends[-2], ends[-1]), key=lambda gap: gap[1] - gap[0])
        middle = float(round((low + high) / 2))
        # Several positions may have the same whole number.
        values = {self.scale.value(each) for each in (low, middle, high)}
        return middle if low < middle < high and len(values) == 3 else None

    # --- estimate ----------------------------------------------------------------------------

    def _estimated(self) -> Search:
        meter = self.meter
        held, broken = self._closed_bracket()
        if held >= broken:
            return self._result("inconclusive", _INCONSISTENT)
        half, top = (broken - held) / 2, float(self.scale.steps)
        around = (held - half, held, held + half, broken, broken + half)
        inside = (min(max(each, 0.0), top) for each in around)
        positions = sorted({self.scale.value(each): each for each in (*inside, held, broken)}.values())
        again = {each: self.meter.new_level() for each in {0.0, *positions}}
        size = int((self.meter.budget - self.meter.spent) / (_ROUNDS * len(again)))
        stretches = min(_MOST_STRETCHES, int(_ROUNDS * size / (_STRETCH * self.meter.alike)))
        if stretches < _FEWEST_STRETCHES:
            return self._without_estimate(_NO_BUDGET)
        rng = Rng.keyed(self.seed, "estimate")
        for _ in range(_ROUNDS):
            for position in _shuffled(sorted(again), rng):
                meter.take(again[position], (yield self._block(position, "estimate", size)))
        if meter.decision(again[held]) == "broken" or meter.decision(again[broken]) == "held":
            return self._result("inconclusive", _INCONSISTENT)
        return self._judged(again, positions, stretches, rng)

    def _judged(
        self, again: dict[float, Level], positions: list[float], stretches: int, rng: Rng
    ) -> BreakingPoint:
        """Return the result from the levels of the estimate."""
        held, broken = self._closed_bracket()
        crossings = [
            find_crossing(
                positions,
                [Stretches(_cut(again[each].times[number], stretches), goal) for each in positions],
                goal,
                self.meter.alike,
                rng.child("bootstrap", number),
            )
            for number, goal in enumerate(self.meter.goals)
        ]
        first = _first(crossings)
        if first is None:
            return self._without_estimate(_NO_CROSSING)
        crossing, number = first
        curve = _Curve(self.meter.goals[number], number, positions, {**self.levels, **again})
        if curve.has_drifted(self.levels[0.0], again[0.0], held, broken):
            return self._result("inconclusive", _DRIFT, goal=number)
        if curve.is_cliff(float(self.scale.steps)):
            if not self._is_narrow(held, broken):
                return self._result("found", _WIDE, goal=number)
            return self._result("found", _IS_CLIFF, is_cliff=True, goal=number)
        low, high = max(crossing.interval.low, held), min(crossing.interval.high, broken)
        if low > high:
            return self._result("inconclusive", _DISAGREEMENT, goal=number)
        value = self.scale.value(min(max(crossing.position, low), high))
        interval = Interval(*sorted((self.scale.value(low), self.scale.value(high))))
        return self._result("found", "", estimate=Estimate(value, interval), goal=number)

    def _without_estimate(self, reason: str) -> BreakingPoint:
        """Return the bracket alone: as a cliff if its two sides show one for certain."""
        held, broken = self._closed_bracket()
        top = float(self.scale.steps)
        for number, goal in enumerate(self.meter.goals):
            curve = _Curve(goal, number, [held, broken], self.levels)
            if self._is_narrow(held, broken) and curve.is_certain_cliff(top):
                return self._result("found", _IS_CLIFF, is_cliff=True, goal=number)
        return self._result("found", reason)

    def _is_narrow(self, held: float, broken: float) -> bool:
        return broken - held <= max(_WIDEST_CLIFF * self.scale.steps, 1.0)

    # --- results -----------------------------------------------------------------------------

    def _gate_failed(self, level: Level, otherwise: Outcome) -> BreakingPoint:
        if level.decision != "undecided":
            return self._result(otherwise, "")
        end = "harmless" if otherwise == "already_broken" else "harmful"
        wanted = ceil(self.meter.wanted(level) / _FOR_GATE)
        reason = f"The {end} end of the range could not be decided."
        return self._result("inconclusive", reason, wanted=max(wanted, ceil(2 * self.meter.budget)))

    def _result(
        self,
        outcome: Outcome,
        reason: str,
        *,
        estimate: Estimate | None = None,
        is_cliff: bool = False,
        goal: int = 0,
        wanted: int | None = None,
    ) -> BreakingPoint:
        held, broken = (None if each is None else self.scale.value(each) for each in self._bracket())
        levels = [(position, level) for position, level in sorted(self.levels.items()) if level.requests]
        return BreakingPoint(
            outcome,
            reason,
            held,
            broken,
            estimate,
            is_cliff,
            goal,
            tuple(self.meter.result(level, self.scale.value(position)) for position, level in levels),
            self.meter.requests,
            wanted,
        )


@dataclass(frozen=True, slots=True)
class _Curve:
    """The figure of one goal over the positions: what it says besides where it crosses its limit."""

    goal: Goal
    number: int
    positions: list[float]
    """Those around the bracket."""
    levels: dict[float, Level]

    def is_cliff(self, top: float) -> bool:
        """Return whether the curve is far steeper around the bracket than on either side of it."""
        first, last = self.positions[0], self.positions[-1]
        figures = self._figures([first, last])
        return self._is_steep(figures[last] - figures[first], top)

    def is_certain_cliff(self, top: float) -> bool:
        """Return the same by the least that the figure rises for certain, for levels of few requests."""
        before, after = (self.levels[each] for each in (self.positions[0], self.positions[-1]))
        if self._figure is Stretches.bad_share:
            return self._is_steep(self._bounds(before).low - self._bounds(after).high, top)
        rise = self._percentile_interval(after).low - self._percentile_interval(before).high
        return self._is_steep(rise, top)

    def _is_steep(self, rise: float, top: float) -> bool:
        first, last = self.positions[0], self.positions[-1]
        outside = [(low, high) for low, high in ((0.0, first), (last, top)) if low < high]
        if not outside:
            # The levels are the whole range, so there is nothing to compare with but the levels themselves.
            rising = list(self._figures(self.positions).values())
            return self._figure is Stretches.bad_share and any(
                high - low > _JUMP for low, high in pairwise(rising)
            )
        figures = self._figures({each for ends in outside for each in ends})
        slopes = [
            (figures[high] - figures[low]) / (high - low) for low, high in outside if not isinf(figures[low])
        ]
        return rise / (last - first) > _CLIFF * max([0.0, *(each for each in slopes if not isinf(each))])

    def has_drifted(self, early: Level, late: Level, held: float, broken: float) -> bool:
        """Return whether the harmless end changed for certain, and by enough to move the result: by more than
        half of what the figure changes across the bracket."""
        before, after = (self._percentile_interval(level) for level in (early, late))
        apart = max(after.low - before.high, before.low - after.high)
        figures = self._figures([held, broken])
        return apart > 0 and (isinf(self.goal.limit) or apart > (figures[broken] - figures[held]) / 2)

    @property
    def _figure(self) -> Callable[[Stretches, Sequence[int]], float]:
        return figure_of([self._stretches(each) for each in self.positions], self.goal)[0]

    def _figures(self, positions: Iterable[float]) -> dict[float, float]:
        figure = self._figure
        found = {each: self._stretches(each) for each in positions}
        return {each: figure(level, level.once) for each, level in found.items()}

    def _bounds(self, level: Level) -> Interval:
        """Return bounds of the share of good requests."""
        flags = [self.goal.is_good(time) for time in level.times[self.number]]
        error = (1 - _SURE) / 2
        return share_bounds(effective_counts(flags, error), self.goal.share, error)

    def _stretches(self, position: float) -> Stretches:
        return Stretches([self.levels[position].times[self.number]], self.goal)

    def _percentile_interval(self, level: Level) -> Interval:
        times = level.times[self.number]
        ordered, percent = sorted(times), 100 * self.goal.share
        at = percentile(ordered, percent)
        effective = effective_counts([time <= at for time in times], (1 - _SURE) / 2).total
        return percentile_interval(ordered, percent, max(effective, 1.0), _SURE)


def _first(crossings: Sequence[Crossing | None]) -> tuple[Crossing, int] | None:
    """Return the crossing of the goal that breaks first, and the number of that goal."""
    known = [(each, number) for number, each in enumerate(crossings) if each is not None]
    return min(known, key=lambda pair: pair[0].position) if known else None


def _cut(times: Sequence[float], count: int) -> list[Sequence[float]]:
    """Cut the times of a level into stretches of about the same number."""
    edges = [len(times) * number // count for number in range(count + 1)]
    return [times[low:high] for low, high in pairwise(edges)]


def _shuffled(values: Sequence[float], rng: Rng) -> list[float]:
    left, drawn = list(values), []
    while left:
        drawn.append(left.pop(rng.below(len(left))))
    return drawn
