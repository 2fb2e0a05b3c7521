"""The coordinator's side: starts a worker for each part of the tests, and merges what they send.

A worker that is lost is not replaced, and its tests are not run again: those without a result have a row that
says so. The merged report depends neither on the number of workers nor on the order in which results come.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event as Flag
from time import perf_counter

from faultkit.agents.execute.run_agent import rows_of_runs
from faultkit.agents.shards.case_lines import CaseFold, outcome_from_json
from faultkit.agents.shards.suite_plan import SuitePart, SuitePlan, cases_of
from faultkit.agents.suite.definition import AgentTest, SuiteTest
from faultkit.agents.suite.results import (
    EDGE_RULE,
    RECOVERY_SUFFIX,
    LostShare,
    ResultRow,
    SuiteResult,
    SuiteResults,
)
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.agents.suite_runner import (
    CUT_OFF,
    FinishedRun,
    PieceOutcome,
    error_row,
    lane_rows,
    results_of,
    skipped_row,
    with_injected,
)
from faultkit.base.errors import InputError, RunError
from faultkit.base.network import new_token
from faultkit.base.signals import StopSignal
from faultkit.base.times import now_us, time_text
from faultkit.load.fold import SegmentEnd
from faultkit.load.part_lines import WorkerLost
from faultkit.load.places import Machine, Place, SegmentWorker
from faultkit.load.segment import log_defects
from faultkit.load.split import split

_CHECK_S = 0.1
_OVERTIME_S = 30.0
"""Seconds after the longest time of all tests in which a worker must have ended."""
_STOP_S = 20.0
"""The same after the run was stopped."""


@dataclass(slots=True)
class ShardedCases:
    """What workers have sent."""

    outcomes: dict[int, PieceOutcome] = field(default_factory=dict)
    """By the number of the case."""
    problems: dict[int, str] = field(default_factory=dict)
    """Why the tests of a suite could not be run, by its place: that of the first worker that has one."""
    lost: dict[int, tuple[LostShare, tuple[int, ...]]] = field(default_factory=dict)
    """The lost workers by their shares, and the cases of each of which nothing came."""
    stopped: bool = False


def run_sharded_blocking(
    chosen: Sequence[SelectedTests],
    options: RunOptions,
    plan: SuitePlan,
    opening: AbstractContextManager[Place],
    on_row: Callable[[ResultRow], None] = lambda row: None,
) -> FinishedRun:
    """Open a place and run the tests of a plan there; blocks. A signal ends the run with the rows so far."""
    stop = Flag()
    started_at, began = time_text(now_us()), perf_counter()
    merger = Merger(chosen, options, plan, on_row)
    with StopSignal(stop.set) as signals:
        with opening as place:
            cases = run_cases(plan, place, merger.add, stop)
        results = merger.results(cases)
    took_ms = (perf_counter() - began) * 1000
    return FinishedRun(replace(results, started_at=started_at, duration_ms=took_ms), signals.number)


class Merger:
    """Makes the results of one run of the cases of all workers, in whatever order they come."""

    def __init__(
        self,
        chosen: Sequence[SelectedTests],
        options: RunOptions,
        plan: SuitePlan,
        on_row: Callable[[ResultRow], None] = lambda row: None,
    ) -> None:
        """`on_row` gets each row once, as soon as it is known."""
        self._chosen = chosen
        self._options = options
        self._on_row = on_row
        self._tests = [(each.suite, test) for each in chosen for test in each.tests]
        self._cases = plan.cases()
        self._numbers: dict[int, list[int]] = {}
        """The cases of each test."""
        for number, case in enumerate(self._cases):
            self._numbers.setdefault(case.test, []).append(number)
        self._came: dict[int, dict[int, PieceOutcome]] = {}
        self._rows: dict[int, tuple[ResultRow, ...]] = {}
        """The rows of the tests that are known, by the place of the test."""

    def add(self, number: int, outcome: PieceOutcome) -> None:
        """Add what came of a case."""
        test = self._cases[number].test
        came = self._came.setdefault(test, {})
        came[number] = outcome
        if len(came) == len(self._numbers[test]):
            self._note(test, self._rows_of(test))

    def _note(self, test: int, rows: tuple[ResultRow, ...]) -> None:
        self._rows[test] = rows
        for row in rows:
            self._on_row(row)

    def _rows_of(self, place: int) -> tuple[ResultRow, ...]:
        """Return the rows of a test, of the cases that came."""
        suite, test = self._tests[place]
        outcomes = [outcome for _, outcome in sorted(self._came[place].items())]
        if self._cases[self._numbers[place][0]].run is None:
            return outcomes[0].rows
        failed = next((outcome.rows for outcome in outcomes if outcome.judged is None), None)
        if failed is not None:  # On one machine, the first run that cannot be ended ends the test.
            return with_injected(suite, test, failed)
        judged = [outcome.judged for outcome in outcomes if outcome.judged is not None]
        took_ms = sum(outcome.took_ms for outcome in outcomes)
        assert isinstance(test, AgentTest)
        return with_injected(suite, test, rows_of_runs(suite, test, judged, took_ms))

    def results(self, cases: ShardedCases) -> SuiteResults:
        """Return the results, with a row for each test that was not run since its worker was lost."""
        lost_at = {number: share for share, numbers in cases.lost.values() for number in numbers}
        for place, numbers in self._numbers.items():
            if place in self._rows:
                continue
            losses = [lost_at[number] for number in numbers if number in lost_at]
            if losses:
                self._note(place, self._rows_without(place, losses[0]))
            elif cases.stopped and place in self._came:
                self._note(place, (error_row(self._tests[place][1], CUT_OFF, 0.0),))
        suites, first = [], 0
        for suite_place, each in enumerate(self._chosen):
            following = first + len(each.tests)
            rows = [row for test in range(first, following) for row in self._rows.get(test, ())]
            first = following
            problem = cases.problems.get(suite_place, "")
            lanes = lane_rows(each)
            for row in lanes:
                self._on_row(row)
            # As on one machine: a suite with a mistake has no rows.
            suites.append(SuiteResult(each.suite.file, (*([] if problem else rows), *lanes), problem))
        lost = tuple(cases.lost[share][0] for share in sorted(cases.lost))
        results = results_of(self._chosen, self._options, suites)
        return replace(results, interrupted=cases.stopped, lost=lost)

    def _rows_without(self, place: int, lost: LostShare) -> tuple[ResultRow, ...]:
        """Return the rows of a test of which a worker lost a case, as many as it has otherwise: what failed
        did, the rest is not known."""
        _, test = self._tests[place]
        if test.skip:
            return (skipped_row(test),)
        came = self._came.get(place, {})
        known = self._rows_of(place) if came else ()
        runs = len(self._numbers[place])
        left = f"not run{'' if runs == 1 else f' ({runs - len(came)} of {runs} runs)'}: {lost}"
        if any(map(_is_failed, known)) and not (
            isinstance(test, AgentTest) and test.min_pass_rate is not None
        ):
            return tuple(
                replace(row, message=f"{row.message}; {left}")
                if _is_failed(row)
                else _unrun_row(test, row.name, left, row.rule)
                for row in known
            )
        own = _unrun_row(test, test.name, left)
        if not isinstance(test, AgentTest) or test.recovery is None:
            return (own,)
        return own, _unrun_row(test, f"{test.name}{RECOVERY_SUFFIX}", left, EDGE_RULE)


def _is_failed(row: ResultRow) -> bool:
    return row.verdict in ("failed", "error")


def _unrun_row(test: SuiteTest, name: str, why: str, rule: str = "") -> ResultRow:
    return ResultRow(name, "inconclusive", why, test.place, 0.0, tags=test.tags, rule=rule, unrun=True)


def run_cases(
    plan: SuitePlan,
    on: Place,
    on_case: Callable[[int, PieceOutcome], None] = lambda number, outcome: None,
    stop: Flag | None = None,
) -> ShardedCases:
    """Run the cases of a plan on the workers of a place, and return what they sent.

    `on_case` is called with each case, in the order of arrival. Raises InputError if a worker cannot run them
    as planned, before any test runs; RunError if all workers were lost before anything came of them."""
    parts = split(plan, [new_token() for _ in range(min(on.size, plan.most_parts))])
    with log_defects(), ThreadPoolExecutor(len(parts)) as threads, ExitStack() as stack:
        workers = on.start(parts)
        for worker in workers:
            stack.callback(worker.close)
        crew = _Crew(plan, parts, workers, stop or Flag(), on_case)
        if crew.get_ready(threads):
            crew.run(threads)
        return crew.cases


class _Crew:
    """All workers of a run."""

    def __init__(
        self,
        plan: SuitePlan,
        parts: Sequence[SuitePart],
        workers: Sequence[SegmentWorker],
        stop: Flag,
        on_case: Callable[[int, PieceOutcome], None],
    ) -> None:
        self.cases = ShardedCases()
        self._plan = plan
        self._suites = [plan.tests[case.test].suite for case in plan.cases()]
        """The suite of each case."""
        self._parts = parts
        self._workers = dict(enumerate(workers))
        """Those that are not lost, by share."""
        self._stop = stop
        self._on_case = on_case
        self._folds: queue.SimpleQueue[tuple[int, CaseFold]] = queue.SimpleQueue()
        self._problems: dict[tuple[int, int], str] = {}
        """By the place of the suite, and the share of the worker."""
        self._began_at: float | None = None

    def get_ready(self, threads: ThreadPoolExecutor) -> bool:
        """Wait for all workers; return False soon after the run is stopped."""
        answers = {share: threads.submit(worker.ready) for share, worker in self._workers.items()}
        while not self._stop.is_set() and wait(answers.values(), _CHECK_S).not_done:
            pass
        if self._stop.is_set():
            self._interrupt()
            self.cases.stopped = True
            return False
        here = Machine.here()
        for share, answer in answers.items():
            try:
                self._check_reach(self._workers[share], answer.result(), here)
            except WorkerLost as error:
                self._lose(share, error)
        if not self._workers:
            raise RunError(self._who_was_lost())
        return True

    def _check_reach(self, worker: SegmentWorker, there: Machine, here: Machine) -> None:
        if self._plan.local_urls and there.network != here.network:
            url = self._plan.local_urls[0]
            raise InputError(
                worker.name, f"expected servers that it can reach, got {url}, which is of this machine"
            )

    def run(self, threads: ThreadPoolExecutor) -> None:
        """Run all parts, and take results until each worker has ended or is lost."""
        self._began_at = time.monotonic()
        running = {
            share: threads.submit(worker.run, 0.0, partial(self._put, share))
            for share, worker in self._workers.items()
        }
        deadline = self._began_at + self._plan.longest_s + _OVERTIME_S
        while running:
            if self._stop.is_set() and not self.cases.stopped:
                self.cases.stopped = True
                self._interrupt()
                deadline = min(deadline, time.monotonic() + _STOP_S)
            wait(running.values(), _CHECK_S, return_when="FIRST_COMPLETED")
            is_late = time.monotonic() > deadline
            for share in [share for share, end in running.items() if is_late or end.done()]:
                end = running.pop(share)
                self._take_all()
                self._end(share, end)
            self._take_all()
        if len(self.cases.lost) == len(self._parts) and not self.cases.outcomes and not self.cases.stopped:
            raise RunError(self._who_was_lost())

    def _end(self, share: int, end: Future[SegmentEnd]) -> None:
        try:
            ended = end.result(timeout=0)
            missing = self._missing(share)
            if missing and not ended.cut_short:
                raise WorkerLost(f"it ended without the results of {len(missing)} of its cases")
        except TimeoutError:
            self._lose(share, WorkerLost("it did not end in time"))
        except WorkerLost as error:
            self._lose(share, error)

    def _put(self, share: int, fold: CaseFold) -> None:
        self._folds.put((share, fold))

    def _take_all(self) -> None:
        while True:
            try:
                share, fold = self._folds.get_nowait()
            except queue.Empty:
                return
            self._take(share, fold)

    def _take(self, share: int, fold: CaseFold) -> None:
        for number, written in fold.outcomes.items():
            outcome = outcome_from_json(written)
            self.cases.outcomes[number] = outcome
            self._on_case(number, outcome)
        for place, problem in fold.problems.items():
            self._problems[place, share] = problem
        self.cases.problems = _first_problems(self._problems)

    def _missing(self, share: int) -> list[int]:
        """Return the cases of a worker of which nothing is known."""
        return [
            number
            for number in cases_of(self._parts[share])
            if number not in self.cases.outcomes and (self._suites[number], share) not in self._problems
        ]

    def _lose(self, share: int, error: WorkerLost) -> None:
        worker = self._workers.pop(share)
        worker.close()
        self._take_all()
        missing = self._missing(share)
        planned = len(cases_of(self._parts[share]))
        at_s = None if self._began_at is None else time.monotonic() - self._began_at
        lost = LostShare(worker.name, at_s, str(error), planned, planned - len(missing))
        self.cases.lost[share] = lost, tuple(missing)

    def _interrupt(self) -> None:
        for worker in self._workers.values():
            worker.interrupt()

    def _who_was_lost(self) -> str:
        lost = [self.cases.lost[share][0] for share in sorted(self.cases.lost)]
        texts = [f"{each.worker}: {each.why}" for each in lost]
        return texts[0] if len(texts) == 1 else f"all {len(texts)} workers were lost ({'; '.join(texts)})"


def _first_problems(problems: Mapping[tuple[int, int], str]) -> dict[int, str]:
    def in_order() -> Iterator[tuple[int, str]]:
        for place, share in sorted(problems, reverse=True):
            yield place, problems[place, share]

    return dict(in_order())
