"""Searches for the breaking point of an item, or for the frontier of two settings: each block of the search
is a load through the open proxies, with the rules at the values that the search asks for.

A block in doubt is measured again. If it stays so, the search ends without a result: never with a wrong one.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import ceil
from typing import TypeVar

from faultkit.base.text import counted
from faultkit.load.kept_workers import KeptPlace
from faultkit.load.load import AnyTarget
from faultkit.load.local_workers import LocalPlace
from faultkit.load.places import Place
from faultkit.load.search.breaking_point import find_breaking_point
from faultkit.load.search.frontier import PairBlock, find_frontier
from faultkit.load.search.search_values import Block, Measured, SearchEnded
from faultkit.load.slo import Slo
from faultkit.load.workers import LoadResult, run_load
from faultkit.plan import Plan
from faultkit.proxy.data_plane import FaultPlane, Snapshot
from faultkit.scenario.block_doubts import MeasuredBlock, why_in_doubt
from faultkit.scenario.measure import Measurements, StopFlag
from faultkit.scenario.routes import time_limit_s
from faultkit.scenario.run_events import (
    FrontierProgress,
    LoadProgress,
    PhaseBegan,
    RunListener,
    SearchProgress,
)
from faultkit.scenario.scenario_model import McpCall, ScenarioItem, SearchStrategy
from faultkit.scenario.search_goals import goals_of, late_ms, times_ms
from faultkit.scenario.search_setting import (
    budget_of,
    load_at,
    lowest_rate,
    rate_at,
    rules_of,
    value_text,
    values_text,
)
from faultkit.scenario.verdict import why_no_success

TRIES = 5
"""How often a block is measured until it is not in doubt."""
STOPPED = "It was stopped."

B = TypeVar("B")
R = TypeVar("R")


def drive(search: Generator[B, Measured, R], measure: Callable[[B], Measured]) -> R:
    """Run a search to its end. `measure` raises SearchEnded if it cannot go on."""
    try:
        block = next(search)
        while True:
            try:
                measured = measure(block)
            except SearchEnded as ended:
                block = search.throw(ended)
            else:
                block = search.send(measured)
    except StopIteration as end:
        found: R = end.value
        return found


class SearchMeter:
    """Measures the blocks of one item's search into `measured`."""

    def __init__(
        self,
        item: ScenarioItem,
        strategy: SearchStrategy,
        slos: Sequence[Slo],
        target: AnyTarget,
        plane: FaultPlane,
        measured: Measurements,
        *,
        seed: int | str,
        on: Place,
        notify: RunListener,
        stop: StopFlag,
    ) -> None:
        self._item = item
        self._strategy = strategy
        self._goals = goals_of(slos)
        self._target = target
        self._plane = plane
        self._seed = seed
        self._on = on
        self._notify = notify
        self._stop = stop
        self._began = 0.0
        self._blocks = 0
        self._idle_s: list[float] = []
        """For each load, the time that it took besides that in which requests start."""
        self._requests = 0
        self.measured = measured

    def run(self) -> None:
        """Search until there is a result, or the run is stopped."""
        strategy = self._strategy
        budget = budget_of(strategy)
        self._notify(PhaseBegan("search", strategy.budget_s or budget / lowest_rate(strategy)))
        self.measured.before = self._plane.snapshot()
        self._began = time.monotonic()
        with ExitStack() as stack:
            if isinstance(self._on, LocalPlace):
                self._on = stack.enter_context(KeptPlace(self._on))
            try:
                if (grid := strategy.grid) is None:
                    search = find_breaking_point(strategy.varied.scale, self._goals, budget, self._seed)
                    self.measured.search = drive(search, self._measure)
                else:
                    self.measured.frontier = drive(find_frontier(grid, self._goals, budget), self._measure)
            finally:
                self.measured.faults_s = time.monotonic() - self._began
        self._plane.set_plan(Plan(seed=self._seed))

    def _progress(self, block: Block | PairBlock) -> SearchProgress | FrontierProgress:
        strategy, elapsed_s = self._strategy, time.monotonic() - self._began
        if isinstance(block, Block):
            return SearchProgress(block, strategy.varied.unit, self._requests, elapsed_s)
        assert strategy.grid is not None
        assert strategy.second is not None
        units = (strategy.varied.unit, strategy.second.unit)
        return FrontierProgress(block, strategy.grid, units, self._requests, elapsed_s)

    def _measure(self, block: Block | PairBlock) -> Measured:
        if isinstance(block, Block) and block.phase == "estimate" and self._strategy.budget_s is not None:
            block = replace(block, requests=self._affordable(block))
        self._notify(self._progress(block))
        cost, why = 0.0, ""
        for _ in range(TRIES):
            began, before = time.monotonic(), self._plane.measured()
            result = self._run_block(block)
            if result.cut_short:
                self.measured.cut_short = True
                self._keep(result, began)  # They were sent, though they decide nothing.
                raise SearchEnded(STOPPED)
            after = self._plane.measured()
            taken = MeasuredBlock(
                result.tally,
                load_at(self._strategy, self._item.call, block.values, block.requests),
                result.total_s,
                times_ms(result.tally.samples, self._item.expect.status),
                late_ms(result.tally.samples),
                after[1].since(before[1]),
                self._least_delay_ms(block.values),
                time_limit_s(self._item.call) * 1000,
                _shortages(after[0]) - _shortages(before[0]),
                len(result.lost),
            )
            wall_s = time.monotonic() - began
            self._idle_s.append(wall_s - taken.load.duration_s)
            cost += self._cost(result, wall_s)
            doubt = why_in_doubt(taken, self._goals)
            if doubt is None:
                self._check_block(block, taken, before[0], after[0])
                self._keep(result, began)
                self.measured.search_lateness.add(taken.lateness)
                return Measured(tuple(taken.times_ms for _ in self._goals), cost)
            why = doubt
        at = values_text(self._strategy, block.values)
        raise SearchEnded(
            f"At {at} no trustworthy figures were had in {counted(TRIES, 'try', 'tries')}: {why}"
        )

    def _run_block(self, block: Block | PairBlock) -> LoadResult:
        strategy, plane = self._strategy, self._plane
        load = load_at(strategy, self._item.call, block.values, block.requests)
        rules = rules_of([fault.rule for fault in self._item.faults], strategy, block.values)
        self._blocks += 1
        change_s, on = plane.change_s, self._on
        return run_load(
            self._target,
            replace(load, seed=f"{self._seed}/{self._blocks}"),
            on=on,
            begin_at=(lambda: time.monotonic() + on.margin_s + change_s) if change_s else None,
            on_begin=lambda began: plane.set_plan(Plan(rules, self._seed), None, origin=began),
            on_progress=lambda progress: self._notify(LoadProgress(progress)),
            stop=self._stop,
        )

    def _affordable(self, block: Block) -> int:
        """Return how many requests a block of the estimate may have, so that it takes its part of the budget
        together with the time in which no request starts. At least half of them are left."""
        idle_s = sum(self._idle_s) / len(self._idle_s) if self._idle_s else 0.0
        idle = idle_s * rate_at(self._strategy, block.values)
        return max(round(block.requests - idle), ceil(block.requests / 2))

    def _cost(self, result: LoadResult, wall_s: float) -> float:
        """Return what a block took of the budget: requests, or time as requests of the lowest rate."""
        if self._strategy.budget_s is None:
            return float(result.tally.requests + result.tally.dropped)
        return wall_s * lowest_rate(self._strategy)

    def _least_delay_ms(self, values: Sequence[float]) -> float | None:
        rules = rules_of([fault.rule for fault in self._item.faults], self._strategy, values)
        delays = (rule.fault.least_delay_ms for rule in rules)
        return min((delay for delay in delays if delay is not None), default=None)

    def _check_block(
        self, block: Block | PairBlock, taken: MeasuredBlock, before: Snapshot, after: Snapshot
    ) -> None:
        """Raise SearchEnded if the block shows that the search means nothing."""
        settings, faults = self._strategy.settings, self._item.faults
        injected = {name: count - before.injected.get(name, 0) for name, count in after.injected.items()}
        harmless = [value == each.scale.harmless for each, value in zip(settings, block.values, strict=True)]
        for number, (varied, value) in enumerate(zip(settings, block.values, strict=True)):
            # Harm by the other setting may leave nothing for this fault to act on.
            is_alone = all(harmless[:number] + harmless[number + 1 :])
            if varied.fault is None or value != varied.scale.harmful or not is_alone:
                continue
            rule = faults[varied.fault]
            if not injected.get(rule.rule.name):
                at = value_text(value, varied.unit)
                raise SearchEnded(f"{rule.written} never acted at {at}, the harmful end of the range.")
        if all(harmless):
            summary = taken.tally.summary(taken.load, total_s=taken.total_s)
            calls_tool = isinstance(self._item.call, McpCall)
            why = why_no_success(self._item.expect, summary, None, faults, injected, calls_tool=calls_tool)
            if why is not None:
                raise SearchEnded(f"At the harmless end of the range, {why}.")

    def _keep(self, result: LoadResult, began: float) -> None:
        """Add a block to the figures of the whole search, on its clock."""
        samples, since = result.tally.samples, began - self._began
        moved = replace(
            samples,
            intended=array("d", (each + since for each in samples.intended)),
            started=array("d", (each + since for each in samples.started)),
        )
        self.measured.faults.add(moved)
        self.measured.faults.dropped += result.tally.dropped
        self._requests += result.tally.requests


def _shortages(snapshot: Snapshot) -> int:
    return sum(proxy.shortages for proxy in snapshot.proxies)
