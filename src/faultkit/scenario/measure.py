"""Measuring one item: its calls, or its load without and with the faults, through proxies that are open.

It knows how to call and when to change the plan. Other modules judge the figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event as Flag

from faultkit.load.load import Load, Target
from faultkit.load.samples import Sample, Samples
from faultkit.load.segment import call_once
from faultkit.load.tally import Tally
from faultkit.load.workers import LoadResult, run_load
from faultkit.plan import Plan, Rule
from faultkit.proxy.data_plane import Lateness, Snapshot
from faultkit.proxy.remote import PlaneProcess
from faultkit.scenario.run_events import CallProgress, LoadProgress, PhaseBegan, Watch
from faultkit.scenario.scenario_model import Item, LoadStrategy, Repeat
from faultkit.scenario.strategy import stepped_rules, stepped_value
from faultkit.scenario.verdict import Misses, why_not_met


class _Stopped(Exception):
    """The run was stopped in the middle of a call."""


class Meter:
    """Measures one item into `measured`, which keeps what was measured if it fails half-way."""

    def __init__(
        self,
        item: Item,
        target: Target,
        plane: PlaneProcess,
        measured: Measurements,
        *,
        seed: int | str,
        watch: Watch,
        stop: Flag,
    ) -> None:
        self._item = item
        self._target = target
        self._plane = plane
        self._seed = seed
        self._watch = watch
        self._stop = stop
        self.measured = measured

    def load(self, strategy: LoadStrategy, *, baseline: bool, workers: int) -> None:
        """Run the same load twice: without the faults, then with them."""
        load = replace(strategy.load, seed=self._seed)
        if baseline and self._item.faults:
            self._watch(PhaseBegan("baseline", load.duration_s))
            result = self._run(load, workers, lambda began: None, None)
            self.measured.baseline, self.measured.baseline_s = result.tally, result.total_s
            if self.measured.cut_short:
                return
        self.measured.before = self._plane.snapshot()
        self._watch(PhaseBegan("faults", load.duration_s))
        rules = tuple(fault.rule for fault in self._item.faults)
        misses = Misses(self._item.expect)
        result = self._run(
            load, workers, lambda began: self._break(rules, load.duration_s, began), misses.add
        )
        self.measured.faults, self.measured.faults_s = result.tally, result.total_s
        self.measured.missed, self.measured.first_miss = misses.count, misses.first
        # The faults stay until the proxies close: without them, a blackhole would release its bytes.

    def calls(self, repeat: Repeat) -> None:
        """Make one call after the other; a single call is a repeat of one without steps."""
        calls = repeat.count + repeat.add_baseline_call
        self._watch(PhaseBegan("calls", 0.0))
        began = time.monotonic()
        for number in range(calls):
            if (number and self._stop.wait(repeat.wait_s)) or self._stop.is_set():
                self.measured.cut_short = True
                break
            baseline = number == 0 and repeat.add_baseline_call
            if not baseline and self.measured.before is None:
                self.measured.before = self._plane.snapshot()
            try:
                why = self._call(repeat, None if baseline else number - repeat.add_baseline_call, began)
            except _Stopped:
                self.measured.cut_short = True
                break
            self._watch(CallProgress(number + 1, calls))
            if why is not None and repeat.failfast:
                break
        made = [made.sample for made in self.measured.calls if not made.baseline]
        self.measured.faults.add(Samples.of(made))
        misses = Misses(self._item.expect)
        misses.add(made)
        self.measured.missed, self.measured.first_miss = misses.count, misses.first
        self.measured.faults_s = time.monotonic() - began

    def _call(self, repeat: Repeat, turn: int | None, began: float) -> str | None:
        """Make one call. `turn` counts the calls with the fault; None is the baseline call."""
        value = None
        if turn is not None:
            rules = stepped_rules(self._item, turn)
            value = _stepped_value(repeat, rules)
            self._break(rules, None, began)
        sample = call_once(self._target, self._stop.is_set)
        if sample is None:
            raise _Stopped
        at = time.monotonic() - began - sample.total_s
        sample = sample._replace(intended=at, started=at)
        why = why_not_met(self._item.expect, sample)
        self.measured.calls.append(MadeCall(sample, turn is None, value, why))
        return why

    def _break(self, rules: tuple[Rule, ...], total_s: float | None, began: float | None) -> None:
        self._plane.set_plan(Plan(rules, self._seed), total_s, origin=began)

    def _run(
        self,
        load: Load,
        workers: int,
        on_begin: Callable[[float], None],
        on_samples: Callable[[Samples], None] | None,
    ) -> LoadResult:
        result = run_load(
            self._target,
            load,
            workers=workers,
            on_begin=on_begin,
            on_samples=on_samples,
            on_progress=lambda progress: self._watch(LoadProgress(progress)),
            stop=self._stop,
        )
        self.measured.cut_short = result.cut_short
        return result


def _stepped_value(repeat: Repeat, rules: tuple[Rule, ...]) -> float | None:
    """Return the value of the first stepped setting in this call."""
    if not repeat.stepped:
        return None
    number, setting = repeat.stepped[0]
    return stepped_value(rules[number], setting)


@dataclass(frozen=True, slots=True)
class MadeCall:
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
    baseline: Tally | None = None
    calls: list[MadeCall] = field(default_factory=list)
    baseline_s: float = 0.0
    faults_s: float = 0.0
    before: Snapshot | None = None
    """The proxies' counts when the faults began."""
    missed: int = 0
    """Requests with the faults that missed the expectation."""
    first_miss: str | None = None
    lateness: Lateness = field(default_factory=Lateness)
    """How late the proxies released bytes."""
    cut_short: bool = False
