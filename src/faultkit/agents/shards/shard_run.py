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

from faultkit.agents.shards.case_lines import CaseFold, rows_from_json
from faultkit.agents.shards.suite_plan import SuitePart, SuitePlan, cases_of
from faultkit.agents.suite.definition import SuiteTest
from faultkit.agents.suite.results import LostShare, ResultRow, SuiteResult, SuiteResults
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.agents.suite_runner import FinishedRun, lane_rows, results_of, skipped_row
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

    rows: dict[int, tuple[ResultRow, ...]] = field(default_factory=dict)
    """By the number of the test."""
    problems: dict[int, str] = field(default_factory=dict)
    """Why the tests of a suite could not be run, by its place: that of the first worker that has one."""
    lost: dict[int, tuple[LostShare, tuple[int, ...]]] = field(default_factory=dict)
    """The lost workers by their shares, and the tests of each of which nothing came."""
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
    with StopSignal(stop.set) as signals:
        with opening as place:
            cases = run_cases(plan, place, on_row, stop)
        results = merged(chosen, options, cases, on_row)
    took_ms = (perf_counter() - began) * 1000
    return FinishedRun(replace(results, started_at=started_at, duration_ms=took_ms), signals.number)


def merged(
    chosen: Sequence[SelectedTests],
    options: RunOptions,
    cases: ShardedCases,
    on_row: Callable[[ResultRow], None] = lambda row: None,
) -> SuiteResults:
    """Return the results of all workers as those of one run. `on_row` gets the rows that no worker sent."""
    unrun = {number: share for share, numbers in cases.lost.values() for number in numbers}
    numbers = iter(range(sum(len(each.tests) for each in chosen)))
    suites = []
    for place, each in enumerate(chosen):
        rows: list[ResultRow] = []
        for test, number in zip(each.tests, numbers, strict=False):
            found = cases.rows.get(number, ())
            if not found and number in unrun:
                found = (_unrun_row(test, unrun[number]),)
                on_row(found[0])
            rows += found
        problem = cases.problems.get(place, "")
        lanes = lane_rows(each)
        for row in lanes:
            on_row(row)
        # As on one machine: a suite with a mistake has no rows.
        suites.append(SuiteResult(each.suite.file, (*([] if problem else rows), *lanes), problem))
    lost = tuple(cases.lost[share][0] for share in sorted(cases.lost))
    return replace(results_of(chosen, options, suites), interrupted=cases.stopped, lost=lost)


def _unrun_row(test: SuiteTest, lost: LostShare) -> ResultRow:
    if test.skip:
        return skipped_row(test)
    return ResultRow(
        test.name, "inconclusive", f"not run: {lost}", test.place, 0.0, tags=test.tags, unrun=True
    )


def run_cases(
    plan: SuitePlan,
    on: Place,
    on_row: Callable[[ResultRow], None] = lambda row: None,
    stop: Flag | None = None,
) -> ShardedCases:
    """Run the tests of a plan on the workers of a place, and return what they sent.

    Raises InputError if a worker cannot run them as planned, before any test runs; RunError if all workers
    were lost before anything came of them."""
    parts = split(plan, [new_token() for _ in range(min(on.size, plan.most_parts))])
    with log_defects(), ThreadPoolExecutor(len(parts)) as threads, ExitStack() as stack:
        workers = on.start(parts)
        for worker in workers:
            stack.callback(worker.close)
        crew = _Crew(plan, parts, workers, stop or Flag(), on_row)
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
        on_row: Callable[[ResultRow], None],
    ) -> None:
        self.cases = ShardedCases()
        self._plan = plan
        self._parts = parts
        self._all = workers
        self._workers = dict(enumerate(workers))
        """Those that are not lost, by share."""
        self._stop = stop
        self._on_row = on_row
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
        if len(self.cases.lost) == len(self._parts) and not self.cases.rows and not self.cases.stopped:
            raise RunError(self._who_was_lost())

    def _end(self, share: int, end: Future[SegmentEnd]) -> None:
        try:
            ended = end.result(timeout=0)
            missing = self._missing(share)
            if missing and not ended.cut_short:
                raise WorkerLost(f"it ended without the results of {len(missing)} of its tests")
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
        for number, written in fold.rows.items():
            rows = rows_from_json(written)
            self.cases.rows[number] = rows
            for row in rows:
                self._on_row(row)
        for place, problem in fold.problems.items():
            self._problems[place, share] = problem
        self.cases.problems = _first_problems(self._problems)

    def _missing(self, share: int) -> list[int]:
        """Return the tests of a worker of which nothing is known."""
        return [
            number
            for number in cases_of(self._parts[share])
            if number not in self.cases.rows and (self._plan.cases[number][0], share) not in self._problems
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
