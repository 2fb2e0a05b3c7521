"""Worker processes of this machine: the place `local:N`.

Even a single worker has a process of its own, so that work of the caller does not make requests late.
Workers only send and measure; this process receives their samples during the run, and folds them.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.base.child_process import ChildEnded, ChildProcess, Parent
from faultkit.base.errors import InputError
from faultkit.load.engines import prepare
from faultkit.load.fold import Counts, Fold, Folder, SegmentEnd
from faultkit.load.fold_lines import LineReader, LineWriter, WorkerLost
from faultkit.load.places import Machine
from faultkit.load.samples import Samples
from faultkit.load.segment import run_segment
from faultkit.load.split import LoadPlan, Part, Segment, already_run, load_plan_of
from faultkit.load.tally import exact_limit
from faultkit.load.work import Work, work_of

MOST_LOCAL = 64
_THREAD_SWITCH_S = 0.0005
"""With Python's default of 5 ms, the thread that sends samples would make requests that much late."""

Report: TypeAlias = tuple[Counts, Samples]


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """Processes of this machine."""

    size: int = 1
    margin_s: float = 0.1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MOST_LOCAL:
            raise InputError("workers", f"expected 1 to {MOST_LOCAL}, got {self.size}")

    def start(self, segments: Sequence[Part[Any]]) -> Sequence[LocalWorker]:
        started: list[LocalWorker] = []
        try:
            for segment in segments:
                started.append(LocalWorker(segment))
        except BaseException:
            for worker in started:
                worker.close()
            raise
        return started


class LocalWorker:
    """A process that runs one segment. It starts at once."""

    def __init__(self, segment: Part[Any]) -> None:
        work = work_of(segment.plan.kind)
        self.name = f"{work.worker} {segment.share + 1} of {segment.of}"
        self._folder = work.folder(segment.plan)
        self._on_fold: Callable[[Any], None] = lambda fold: None
        self._child = ChildProcess(work.runner, segment, name=self.name, on_message=self._take)

    @property
    def pid(self) -> int:
        return self._child.pid

    def ready(self) -> Machine:
        try:
            self._child.ready()
        except ChildEnded as error:
            raise WorkerLost(error.how) from None
        return Machine.here()

    def clock(self) -> float:
        return time.monotonic()  # All processes of a machine share it.

    def run(self, begin_at: float, on_fold: Callable[[Any], None]) -> SegmentEnd:
        self._on_fold = on_fold
        try:
            end: SegmentEnd = self._child.call("run", begin_at)
        except ChildEnded as error:
            raise WorkerLost(error.how) from None
        return end

    def interrupt(self) -> None:
        self._child.interrupt()

    def close(self) -> None:
        self._child.close()

    def _take(self, report: tuple[Any, ...]) -> None:
        self._folder.add(*report)
        self._on_fold(self._folder.take())


def _folder(plan: LoadPlan) -> Folder:
    return Folder(plan.expect, exact_limit(plan.load))


LOAD: Work[LoadPlan, Fold] = Work(
    "load worker", "faultkit.load.local_workers:Sender", load_plan_of, _folder, LineWriter, LineReader
)
"""The work of a load."""


class Sender:
    """The part of a worker that sends requests, in its process. It runs a segment once."""

    def __init__(self, parent: Parent, segment: Segment) -> None:
        segment.check()
        self._parent = parent
        self._segment: Segment | None = segment
        plan = segment.plan
        self._route = prepare(plan.target, plan.load, segment.share, segment.of, parent.stopped.is_set)
        sys.setswitchinterval(_THREAD_SWITCH_S)
        gc.collect()
        gc.freeze()  # Objects that exist now stay: later collections look only at what requests leave behind.

    def run(self, begin_at: float) -> SegmentEnd:
        """Send the segment; reports go to the parent meanwhile. Raises InputError the second time."""
        segment, self._segment = self._segment, None
        if segment is None:
            raise already_run()
        if self._route is None:
            return SegmentEnd(0.0, cut_short=True)
        reports: queue.SimpleQueue[Report | None] = queue.SimpleQueue()
        # In a thread of its own, so that a parent that is slow to read makes no request late.
        sender = threading.Thread(target=self._send_all, args=(reports,), name="fault-report", daemon=True)
        sender.start()
        try:
            return run_segment(
                self._route,
                segment.plan.load,
                begin_at,
                report=lambda counts, samples: reports.put((counts, samples)),
                stopped=self._parent.stopped.is_set,
                worker=segment.share,
                workers=segment.of,
            )
        finally:
            reports.put(None)
            sender.join()

    def _send_all(self, reports: queue.SimpleQueue[Report | None]) -> None:
        with contextlib.suppress(OSError):  # The parent has ended.
            while (report := reports.get()) is not None:
                self._parent.send(report)
