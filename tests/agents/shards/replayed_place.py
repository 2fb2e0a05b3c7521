"""A place whose workers ran before, in this process, and whose lines come in a given order."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from faultkit.agents.shards.case_lines import SUITE
from faultkit.agents.shards.case_runner import CaseRunner
from faultkit.agents.shards.plan_suites import plan_suites
from faultkit.agents.shards.shard_run import Merger, run_cases
from faultkit.agents.shards.suite_plan import SuitePart, SuitePlan
from faultkit.agents.suite.results import SuiteResults
from faultkit.agents.suite.run_options import RunOptions, SelectedTests, Selection, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites
from faultkit.load.fold import SegmentEnd
from faultkit.load.part_lines import WorkerLost
from faultkit.load.places import Machine, SegmentWorker
from faultkit.load.split import Part

Change = Callable[[list[str]], list[str]]


class Collected:
    """The parent of a runner in this process."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.sent: list[tuple[Any, ...]] = []

    def send(self, value: Any) -> None:
        self.sent.append(value)


def lines_of(part: SuitePart) -> list[str]:
    """Run a part in this process, and return its lines: one for each test, and the end."""
    cwd, parent = os.getcwd(), Collected()
    try:
        with CaseRunner(parent, part) as runner:  # type: ignore[arg-type]
            end = runner.run(0.0)
    finally:
        os.chdir(cwd)
    writer, lines = SUITE.writer(part), []
    for report in parent.sent:
        folder = SUITE.folder(part.plan)
        folder.add(*report)
        lines.append(writer.fold(folder.take()))
    return [*lines, writer.end(end)]


class Replayed:
    """A worker that sends its lines when it is its turn."""

    def __init__(self, part: SuitePart, lines: list[str], turns: Turns) -> None:
        self.name = f"worker {part.share}"
        self._part, self._lines, self._turns = part, lines, turns

    def ready(self) -> Machine:
        return Machine.here()

    def clock(self) -> float:
        raise AssertionError("tests need no clock")

    def run(self, begin_at: float, on_fold: Callable[[Any], None]) -> SegmentEnd:
        reader = SUITE.reader(self._part)
        try:
            for line in self._lines:
                self._turns.wait(self._part.share)
                message = reader.read(line)
                if isinstance(message, SegmentEnd):
                    return message
                on_fold(message)
            raise AssertionError("there was no end")
        finally:
            self._turns.leave(self._part.share)

    def interrupt(self) -> None: ...

    def close(self) -> None:
        self._turns.leave(self._part.share)


class Turns:
    """Which worker may send its next line."""

    def __init__(self, order: Iterator[int], workers: int) -> None:
        self._order = order
        self._left = set(range(workers))
        self._changed = threading.Condition()
        self._turn = self._following()

    def _following(self) -> int | None:
        return next((share for share in self._order if share in self._left), None) if self._left else None

    def wait(self, share: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._turn == share or share not in self._left)
            if share not in self._left:
                raise WorkerLost("it was closed")
            self._turn = self._following()
            self._changed.notify_all()

    def leave(self, share: int) -> None:
        with self._changed:
            self._left.discard(share)
            if self._turn == share:
                self._turn = self._following()
            self._changed.notify_all()


class ReplayedPlace:
    """Workers whose lines come in an order, each as its transport changes them."""

    margin_s = 0.0

    def __init__(
        self, size: int, order: Sequence[int] = (), changes: dict[int, Change] | None = None
    ) -> None:
        self.size = size
        self._order = order
        self._changes = changes or {}

    def start(self, segments: Sequence[Part[Any]]) -> Sequence[SegmentWorker]:
        cyclic = chain.from_iterable(repeat(range(len(segments))))
        turns = Turns(chain((share % len(segments) for share in self._order), cyclic), len(segments))
        unchanged: Change = lambda lines: lines  # noqa: E731
        return [
            Replayed(part, self._changes.get(part.share, unchanged)(lines_of(part)), turns)
            for part in segments
        ]


def chosen_of(*files: Path | str, selection: Selection | None = None) -> list[SelectedTests]:
    return select([load_suite(file) for file in files], selection or Selection())


def planned(chosen: Sequence[SelectedTests], **options: Any) -> SuitePlan:
    return plan_suites(chosen, RunOptions(**options), {})


def on_one_machine(chosen: Sequence[SelectedTests], **options: Any) -> SuiteResults:
    return without_times(asyncio.run(run_suites(chosen, RunOptions(**options))))


def sharded(chosen: Sequence[SelectedTests], place: ReplayedPlace, **options: Any) -> SuiteResults:
    plan = planned(chosen, **options)
    merger = Merger(chosen, RunOptions(**options), plan)
    return without_times(merger.results(run_cases(plan, place, merger.add)))


def without_times(results: SuiteResults) -> SuiteResults:
    """Return the results with 0 for what is measured in real time."""
    suites = tuple(
        replace(suite, rows=tuple(replace(row, duration_ms=0.0) for row in suite.rows))
        for suite in results.suites
    )
    return replace(results, suites=suites, started_at="", duration_ms=0.0)
