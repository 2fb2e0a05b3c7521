"""A test with a `breakpoint`: how strong an injected fault may get until the test fails.

Scripts on mocks in virtual time have no noise: each value is run twice, with two seeds, and as long as both
runs agree a bisection is exact. Where they do not agree, and for models, programs and live servers, runs are
trials of the search that loads have (`faultkit.load.search`), which decides values by a sequential test.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeAlias

from faultkit.agents.execute.connected_servers import ConnectedServers
from faultkit.agents.execute.expectations import Snapshots
from faultkit.agents.execute.run_agent import JudgedRun, run_once
from faultkit.agents.suite.definition import AgentTest, ScriptAgent, ShippedAgent, Suite
from faultkit.agents.suite.gate import NOT_EXERCISED, RowVerdict
from faultkit.agents.suite.results import BREAKING_POINT, ResultRow, ScoredRun
from faultkit.agents.suite.run_options import RunOptions
from faultkit.base.errors import RunError
from faultkit.base.sample_statistics import Interval
from faultkit.base.text import counted
from faultkit.load.search.breaking_point import find_breaking_point
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import BreakingPoint, LevelResult, Outcome
from faultkit.load.search.share_evidence import Decision
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_trials import goal_of_trials, measured_trials, search_document
from faultkit.scenario.report.search_wording import search_sentence
from faultkit.scenario.search_report import judge_search
from faultkit.scenario.search_setting import rules_at, value_text
from faultkit.scenario.trial_search import TrialSearch

SUBJECT = "The test"
_MOST_SCALES = 4
"""How often a range is divided again, each time into up to 256 parts."""
RUNS_PER_VALUE = 2
"""Runs of each value of an exact search, with different seeds."""
_VERDICTS: dict[str, RowVerdict] = {
    "passed": "passed",
    "failed": "failed",
    "inconclusive": "inconclusive",
    "not exercised": "not_exercised",
}
Trial: TypeAlias = Callable[[float, int], Awaitable[bool]]
"""Runs the test at a value, as the run of a number; returns whether it passed."""


class _Unjudged(Exception):
    """A run shows nothing of whether the test holds at its value."""


class _Differs(Exception):
    """Two runs of one value ended differently."""


@dataclass(slots=True)
class _Trials:
    """The runs of a search so far."""

    suite: Suite
    test: AgentTest
    search: TrialSearch
    connected: ConnectedServers
    options: RunOptions
    snapshots: Snapshots
    count: int = 0
    runs: dict[float, ScoredRun] = field(default_factory=dict)
    """The first run of each value."""
    failures: dict[float, str] = field(default_factory=dict)
    """Why the first failed run of a value failed."""
    met: bool = False
    """Whether a run met the searched fault."""

    async def run(self, value: float, number: int) -> bool:
        """Run the test at a value. Raises _Unjudged, or RunError for a run that could not end."""
        varied = self.search.varied
        names = self.test.inject
        rules = {each.name: each.rule for each in self.suite.faults}
        moved = rules_at([rules[name] for name in names], varied, value)
        at_value = dict(zip(names, moved, strict=True))
        faults = (replace(each, rule=at_value.get(each.name, each.rule)) for each in self.suite.faults)
        suite = replace(self.suite, faults=tuple(faults))
        # A fault without effect, at the harmless end, is met by no call: that is no reason to fail there.
        test = replace(self.test, allow_unhit=True)
        judged = await run_once(suite, test, self.connected, self.options, self.snapshots, number)
        self.count += 1
        self.runs.setdefault(value, judged.run)
        self.met |= varied.path.rpartition(".")[0] in judged.run.trace.met_faults
        verdict, message = _of_run(judged)
        at = f"at {value_text(value, varied.unit)}: {message}"
        if judged.stub or judged.replay:
            what = "a stub" if judged.stub else "one recording"
            raise _Unjudged(f"a search needs runs of the model itself, got {what}")
        if verdict == "error":
            raise RunError(at)
        if verdict == "inconclusive":
            raise _Unjudged(at)
        if verdict == "failed":
            self.failures.setdefault(value, at)
        # Not exercised: no call failed there, of which a share was to recover.
        return verdict != "failed"


def _of_run(judged: JudgedRun) -> tuple[RowVerdict, str]:
    """Return the verdict of a run, by its expectations and its recovery gate together."""
    own, gate = judged.expectations, judged.run.gate
    if gate is not None and gate.verdict != "passed" and own.verdict != "error":
        return gate.verdict, gate.message
    return own.verdict, own.message.partition("\n")[0]


async def run_breakpoint_test(
    suite: Suite, test: AgentTest, connected: ConnectedServers, options: RunOptions, snapshots: Snapshots
) -> tuple[ResultRow, ...]:
    """Search where a test breaks; return its row."""
    assert test.breakpoint is not None
    began = perf_counter()
    trials = _Trials(suite, test, test.breakpoint, connected, options, snapshots)
    is_script = isinstance(test.agent, ShippedAgent | ScriptAgent)
    try:
        point, is_exact = None, False
        if is_script and options.clock == "virtual" and connected.are_mocks(test.servers):
            point = await exact_point(test.breakpoint, trials.run)
            is_exact = point is not None
        if point is None:
            seed = suite.seed if options.seed is None else options.seed
            point = await _by_trials(test.breakpoint, trials.run, seed)
    except _Unjudged as unjudged:
        return (_row(test, "inconclusive", str(unjudged), began, trials),)
    found = test.breakpoint.report(point, "the test passes")
    return (_found_row(test, found, is_exact, began, trials),)


async def exact_point(search: TrialSearch, run: Trial) -> BreakingPoint | None:
    """Return the breaking point by bisection; None if two runs of a value differ, so that it is not exact."""
    scale, seen = search.varied.scale, dict[float, bool]()

    async def passes(value: float) -> bool:
        if value not in seen:
            results = {await run(value, number) for number in range(RUNS_PER_VALUE)}
            if len(results) > 1:
                raise _Differs
            (seen[value],) = results
        return seen[value]

    outcome: Outcome = "found"
    held: float | None = scale.harmless
    broken: float | None = scale.harmful
    try:
        if not await passes(scale.harmless):
            outcome, held, broken = "already_broken", None, scale.harmless
        elif await passes(scale.harmful):
            outcome, held, broken = "holds", scale.harmful, None
        else:
            held, broken = await _bisected(scale, passes)
    except _Differs:
        return None
    values = sorted(seen, reverse=scale.harmful < scale.harmless)
    levels = tuple(_level(value, seen[value]) for value in values)
    count = RUNS_PER_VALUE * len(seen)
    each = f"each of {counted(len(seen), 'value')} was run twice, with two seeds, and both runs agreed"
    reason = f"There is no noise: {each}." if outcome == "found" else ""
    return BreakingPoint(outcome, reason, held, broken, None, False, 0, levels, count)


async def _bisected(scale: Scale, passes: Callable[[float], Awaitable[bool]]) -> tuple[float, float]:
    """Return the last value that holds and the first that is broken, as close as the precision asks for."""
    held, broken = scale.harmless, scale.harmful
    for _ in range(_MOST_SCALES):
        low, high = 0, scale.steps
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if await passes(scale.value(middle)) else (low, middle)
        held, broken = scale.value(low), scale.value(high)
        # A scale has a limited number of parts: a finer precision divides the last part again.
        if not scale.resolution or abs(broken - held) <= scale.resolution or scale.steps == 1:
            break
        scale = replace(scale, harmless=held, harmful=broken)
    return held, broken


def _level(value: float, held: bool) -> LevelResult:
    decision: Decision = "held" if held else "broken"
    bounds = Interval(float(held), float(held))
    return LevelResult(value, decision, RUNS_PER_VALUE, RUNS_PER_VALUE * held, 0, bounds, 0.0)


async def _by_trials(search: TrialSearch, run: Trial, seed: int | str) -> BreakingPoint:
    blocks = find_breaking_point(search.varied.scale, [goal_of_trials(search.share)], search.budget, seed)
    block, number = next(blocks), 0
    while True:
        passed = []
        for _ in range(block.requests):
            passed.append(await run(block.value, number))
            number += 1
        try:
            block = blocks.send(measured_trials(passed))
        except StopIteration as end:
            found: BreakingPoint = end.value
            return found


def _found_row(
    test: AgentTest, found: SearchReport, is_exact: bool, began: float, trials: _Trials
) -> ResultRow:
    verdict, reasons = judge_search(found, ())
    sentence = search_sentence(found, SUBJECT, "run")
    parts = [*(each for each in reasons if each not in sentence), sentence]
    if found.broken is not None and (why := trials.failures.get(found.broken)):
        parts.append(f"What fails {why}")
    parts.append(f"({trials.search.says}, {counted(trials.count, 'run')})")
    message, limit = " ".join(f"{part}." if part[-1].isalnum() else part for part in parts), ""
    row_verdict = _VERDICTS[verdict]
    if row_verdict == "failed":
        limit = "breakpoint.from" if found.outcome == "already_broken" else "breakpoint.at_least"
    if row_verdict == "passed" and not trials.met and not test.allow_unhit:
        row_verdict, message = "not_exercised", NOT_EXERCISED
    document = {**search_document(found, SUBJECT, "run"), "is_exact": is_exact}
    row = _row(test, row_verdict, message, began, trials, found.held)
    return replace(row, limit=limit, details=((BREAKING_POINT, document),))


def _row(
    test: AgentTest,
    verdict: RowVerdict,
    message: str,
    began: float,
    trials: _Trials,
    held: float | None = None,
) -> ResultRow:
    """Return the row; of all runs it shows the one at the last value that holds, or the first of all."""
    shown = trials.runs.get(held) if held is not None else None
    runs = [shown] if shown is not None else list(trials.runs.values())[:1]
    took_ms = (perf_counter() - began) * 1000
    return ResultRow(test.name, verdict, message, test.place, took_ms, tags=test.tags, runs=tuple(runs))
