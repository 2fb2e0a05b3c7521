"""Measures one item: its calls, or its load without and with the faults, through proxies that are open.

This module makes calls and changes the plan of the proxies. It does not judge the figures: `verdict` and
`item_report` do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from faultkit.load.early_stop import EarlyStop
from faultkit.load.expectation import why_not_met
from faultkit.load.fold import LostWorker
from faultkit.load.load import AnyTarget, Load, planned_requests
from faultkit.load.places import Place
from faultkit.load.samples import Sample, Samples
from faultkit.load.search.frontier import Frontier
from faultkit.load.search.search_values import BreakingPoint
from faultkit.load.segment import SingleCalls
from faultkit.load.slo import Slo
from faultkit.load.tally import Tally
from faultkit.load.workers import LoadResult, run_load
from faultkit.plan import Plan, Rule
from faultkit.proxy.data_plane import FaultPlane, Lateness, Snapshot
from faultkit.scenario.run_events import CallProgress, LoadProgress, PhaseBegan, RunListener
from faultkit.scenario.scenario_model import LoadStrategy, RepeatStrategy, ScenarioItem
from faultkit.scenario.strategy import load_of, stepped_rules, stepped_value

_POLL_S = 0.1


class StopFlag(Protocol):
    """A `threading.Event`, or an object with these two of its methods."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool: ...


class LosablePlane(Protocol):
    """A plane whose process, or whose lease, may end by itself."""

    @property
    def lost(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class StopOrLost:
    """Set once the run is stopped, or the plane is lost: then a load measures nothing more."""

    stop: StopFlag
    plane: LosablePlane

    def is_set(self) -> bool:
        return self.stop.is_set() or self.plane.lost is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or the time is over; return whether it is set."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left_s = _POLL_S if until is None else min(_POLL_S, until - time.monotonic())
            if left_s <= 0:
                return False
            self.stop.wait(left_s)
        return True


class _Stopped(Exception):
    """The run was stopped in the middle of a call."""


class ItemMeter:
    """Measures one item into `measured`, which keeps the figures so far if the run fails half-way."""

    def __init__(
        self,
        item: ScenarioItem,
        target: AnyTarget,
        plane: FaultPlane,
        measured: Measurements,
        *,
        seed: int | str,
        notify: RunListener,
        stop: StopFlag,
    ) -> None:
        self._item = item
        self._target = target
        self._plane = plane
        self._seed = seed
        self._notify = notify
        self._stop = stop
        self.measured = measured

    def load(self, strategy: LoadStrategy, slos: Sequence[Slo], *, baseline: bool, on: Place) -> None:
        """Run the same load twice: without the faults, then with them. The second one may end early, once
        all objectives are decided."""
        load = replace(load_of(strategy, self._item.call), seed=self._seed)
        if baseline and self._item.faults:
            self._notify(PhaseBegan("baseline", load.duration_s))
            result = self._run_load(load, on, lambda began: None)
            self.measured.baseline, self.measured.baseline_s = result.tally, result.total_s
            self.measured.baseline_lost = result.lost
            if self.measured.cut_short:
                return
        self.measured.before = self._plane.snapshot()
        self._notify(PhaseBegan("faults", load.duration_s))
        rules = tuple(fault.rule for fault in self._item.faults)
        early = None
        if strategy.ends_early:
            needs_all = self._item.expect.of_calls
            early = EarlyStop(slos, planned_requests(load), self._stop, needs_miss=needs_all)
        result = self._run_load(load, on, lambda began: self._set_rules(rules, load.duration_s, began), early)
        if early is not None and early.is_decided and not self._stop.is_set():
            self.measured.cut_short = False
            self.measured.decided_s = result.total_s
        self.measured.faults, self.measured.faults_s = result.tally, result.total_s
        self.measured.faults_lost = result.lost
        # The faults stay until the proxies close: without them, a blackhole would release its bytes.

    def calls(self, repeat: RepeatStrategy) -> None:
        """Make one call after the other; a single call is a repeat of one without steps.

        The session of an MCP server is opened before the faults begin, and no part of a call."""
        self._notify(PhaseBegan("calls", 0.0))
        with SingleCalls(self._target) as calls:
            is_open = calls.open(self._stop.is_set)
            began = time.monotonic()
            if is_open:
                self._repeat(repeat, calls, began)
            else:
                self.measured.cut_short = True
            self.measured.faults_s = time.monotonic() - began
        samples = [call.sample for call in self.measured.calls if not call.baseline]
        self.measured.faults.add(Samples.of(samples))
        self.measured.faults.misses.add(self._item.expect, samples)

    def _repeat(self, repeat: RepeatStrategy, calls: SingleCalls, began: float) -> None:
        count = repeat.count + repeat.add_baseline_call
        for number in range(count):
            if (number and self._stop.wait(repeat.wait_s)) or self._stop.is_set():
                self.measured.cut_short = True
                break
            baseline = number == 0 and repeat.add_baseline_call
            if not baseline and self.measured.before is None:
                self.measured.before = self._plane.snapshot()
            try:
                turn = None if baseline else number - repeat.add_baseline_call
                why = self._call(repeat, calls, turn, began)
            except _Stopped:
                self.measured.cut_short = True
                break
            self._notify(CallProgress(number + 1, count))
            if why is not None and repeat.failfast:
                break

    def _call(self, repeat: RepeatStrategy, calls: SingleCalls, turn: int | None, began: float) -> str | None:
        """Make one call. `turn` counts the calls with the fault; None is the baseline call."""
        value = None
        if turn is not None:
            rules = stepped_rules(self._item, turn)
            if repeat.stepped:
                # Of several stepped settings, the report shows the first.
                index, setting = repeat.stepped[0]
                value = stepped_value(rules[index], setting)
            self._set_rules(rules, None, began)
        sample = calls.make(self._stop.is_set)
        if sample is None:
            raise _Stopped
        at = time.monotonic() - began - sample.total_s
        sample = sample._replace(intended=at, started=at)
        why = why_not_met(self._item.expect, sample)
        self.measured.calls.append(MeasuredCall(sample, turn is None, value, why))
        return why

    def _set_rules(self, rules: tuple[Rule, ...], total_s: float | None, began: float | None) -> None:
        self._plane.set_plan(Plan(rules, self._seed), total_s, origin=began)

    def _run_load(
        self,
        load: Load,
        on: Place,
        on_begin: Callable[[float], None],
        early: EarlyStop | None = None,
    ) -> LoadResult:
        # A plane elsewhere needs more time to have the faults begin with the load.
        change_s = self._plane.change_s
        result = run_load(
            self._target,
            load,
            on=on,
            expect=self._item.expect,
            begin_at=(lambda: time.monotonic() + on.margin_s + change_s) if change_s else None,
            on_begin=on_begin,
            on_progress=lambda progress: self._notify(LoadProgress(progress)),
            on_measured=None if early is None else early.look,
            stop=early or self._stop,
        )
        self.measured.cut_short = result.cut_short
        return result


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """The measurements of one call of a single or repeat strategy."""

    sample: Sample
    baseline: bool
    stepped_value: float | None
    why_not: str | None
    """The part of the expectation that the call missed; None if it met all of it."""


@dataclass(slots=True)
class Measurements:
    """The measurements of one item so far."""

    faults: Tally = field(default_factory=Tally)
    """The requests with the faults."""
    baseline: Tally | None = None
    """The requests of the same load without the faults; None if it was not run."""
    calls: list[MeasuredCall] = field(default_factory=list)
    baseline_s: float = 0.0
    faults_s: float = 0.0
    before: Snapshot | None = None
    """The proxies' counts when the faults began."""
    faults_lost: tuple[LostWorker, ...] = ()
    """Workers that were lost during the load with the faults."""
    baseline_lost: tuple[LostWorker, ...] = ()
    """Workers that were lost during the baseline."""
    lateness: Lateness = field(default_factory=Lateness)
    """How late the proxies released bytes."""
    warnings: list[str] = field(default_factory=list)
    """What was found before the first call."""
    cut_short: bool = False
    decided_s: float | None = None
    """When the load ended early because all objectives were decided, in seconds; None if it did not."""
    search: BreakingPoint | None = None
    """The result of a search; None if the item has none, or it had to end without."""
    frontier: Frontier | None = None
    """That of a search of two settings."""
    search_lateness: Lateness = field(default_factory=Lateness)
    """How late the proxies released bytes in the blocks of a search that count."""
