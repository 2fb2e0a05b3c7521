"""A load on one target from one or more worker processes, which all start at the same time.

Even a single worker has a process of its own, so that work of the caller does not make requests late.
Workers only send and measure; the parent receives their samples during the run, and adds them up.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypeAlias

from faultkit.base.child_process import ChildProcess, Parent
from faultkit.base.errors import InputError
from faultkit.base.sample_statistics import percentile
from faultkit.load.engines import AnyTarget, McpEngine, check_target, mcp_engine_of, worker_count
from faultkit.load.load import Load, Progress
from faultkit.load.mcp_target import McpTarget
from faultkit.load.route import Route, route_of
from faultkit.load.samples import Samples
from faultkit.load.segment import Counts, SegmentEnd, log_defects, run_segment
from faultkit.load.tally import Tally
from faultkit.proxy.tls import tls_context

_CHECK_S = 0.1
_MARGIN_S = 0.1
"""From the readiness of all workers to the start of the run: for the others, and for `on_begin`."""
_RECENT = 500
_THREAD_SWITCH_S = 0.0005
"""With Python's default of 5 ms, the thread that sends samples would make requests that much late."""

WorkerReport: TypeAlias = tuple[int, Counts, Samples]
"""A report: the number of the worker, its counts, and its new samples."""


class Stop(Protocol):
    """A `threading.Event`, or any object with its `is_set`."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The outcome of a run."""

    tally: Tally
    dropped: int
    started_at: float
    """Start on the monotonic clock, which all processes of a machine share."""
    total_s: float
    """Seconds from `started_at` to the end of the last request; at least the duration of the load."""
    cut_short: bool
    """True if it was stopped; requests under way at that moment were not measured."""


def run_load(
    target: AnyTarget,
    load: Load,
    *,
    workers: int = 1,
    begin_at: float | Callable[[], float] | None = None,
    on_begin: Callable[[float], None] | None = None,
    on_samples: Callable[[Samples], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> LoadResult:
    """Send `load` to `target` and return what was measured. Failures of the target are results, not errors.

    `begin_at` (monotonic) must leave the workers some tenths of a second to start; a function is called when
    they have started, so that several loads can begin together. `on_begin` is called with the start time
    shortly before it, so that faults can begin with the load. `on_progress` is called in this thread, several
    times a second. Once `stop` is set, the run ends and keeps what it has.
    """
    check_target(target, load.keep_alive)
    if workers < 1:
        raise InputError("workers", f"expected at least 1, got {workers}")
    count = worker_count(target, load, workers)
    reports: queue.SimpleQueue[WorkerReport] = queue.SimpleQueue()
    with log_defects(), ThreadPoolExecutor(count) as threads, ExitStack() as stack:
        children = [
            stack.enter_context(
                ChildProcess(
                    "faultkit.load.workers:Worker",
                    target,
                    load,
                    number,
                    count,
                    name=f"load worker {number}",
                    on_message=reports.put,
                )
            )
            for number in range(count)
        ]
        for child in children:
            child.ready()
        if isinstance(target, McpTarget) and not _open_sessions(children, threads, stop):
            return LoadResult(Tally(), 0, time.monotonic(), 0.0, cut_short=True)
        if callable(begin_at):
            begin_at = begin_at()
        started_at = time.monotonic() + _MARGIN_S if begin_at is None else begin_at
        if on_begin is not None:
            on_begin(started_at)
        ends = [threads.submit(child.call, "run", started_at) for child in children]
        collector = _Collector(started_at, on_progress, on_samples)
        _collect(collector, reports, ends, stop, children)
        segments: list[SegmentEnd] = [end.result() for end in ends]
    return LoadResult(
        tally=collector.tally,
        dropped=collector.tally.dropped,
        started_at=started_at,
        total_s=max(segment.total_s for segment in segments),
        cut_short=any(segment.cut_short for segment in segments),
    )


def _open_sessions(children: list[ChildProcess], threads: ThreadPoolExecutor, stop: Stop | None) -> bool:
    """Let the workers open their sessions; return False if that was stopped."""
    opening = [threads.submit(child.call, "open") for child in children]
    while not all(each.done() for each in opening):
        wait(opening, _CHECK_S)
        has_failed = any(each.done() and each.exception() for each in opening)
        if has_failed or (stop is not None and stop.is_set()):
            for child in children:
                child.interrupt()
    results = [each.result() for each in opening]
    return all(results)


def _collect(
    collector: _Collector,
    reports: queue.SimpleQueue[WorkerReport],
    ends: list[Future[SegmentEnd]],
    stop: Stop | None,
    children: list[ChildProcess],
) -> None:
    """Collect reports until all workers have ended or failed, and no report is left."""
    interrupted = False

    def check() -> None:
        nonlocal interrupted
        # A worker that has failed makes the others useless.
        has_failed = any(end.done() and end.exception() for end in ends)
        if not interrupted and (has_failed or (stop is not None and stop.is_set())):
            interrupted = True
            for child in children:
                child.interrupt()
        collector.show_sometimes()

    while True:
        running = any(not end.done() for end in ends)
        check()
        try:
            collector.take(*reports.get(timeout=_CHECK_S if running else 0), meanwhile=check)
        except queue.Empty:
            if not running:
                collector.show()
                return


class _Collector:
    """The reports of the workers so far."""

    def __init__(
        self,
        started_at: float,
        on_progress: Callable[[Progress], None] | None,
        on_samples: Callable[[Samples], None] | None,
    ) -> None:
        self.tally = Tally()
        self._on_samples = on_samples
        self._started_at = started_at
        self._on_progress = on_progress
        self._counts: dict[int, Counts] = {}
        self._recent: deque[float] = deque(maxlen=_RECENT)
        """Recent response times, in seconds."""
        self._shown_at = -inf

    def take(self, worker: int, counts: Counts, samples: Samples, *, meanwhile: Callable[[], None]) -> None:
        self._counts[worker] = counts
        self.tally.dropped = sum(each.dropped for each in self._counts.values())
        self.tally.starved = sum(each.starved for each in self._counts.values())
        self.tally.add(samples, meanwhile)
        if self._on_samples is not None:
            self._on_samples(samples)
        if self._on_progress is not None:
            self._recent.extend(samples.response_times()[-_RECENT:])

    def show_sometimes(self) -> None:
        """Report progress, if the last report is old enough."""
        if time.monotonic() >= self._shown_at + _CHECK_S:
            self.show()

    def show(self) -> None:
        """Report progress."""
        if self._on_progress is None:
            return
        now = time.monotonic()
        self._shown_at = now
        counts = self._counts.values()
        recent_ms = sorted(1000 * seconds for seconds in self._recent)
        in_flight = sum(each.in_flight for each in counts)
        started = sum(each.started for each in counts)
        self._on_progress(
            Progress(
                elapsed_s=now - self._started_at,
                started=started,
                done=started - in_flight,
                errors=sum(each.errors for each in counts),
                in_flight=in_flight,
                dropped=self.tally.dropped,
                p50_ms=percentile(recent_ms, 50) if recent_ms else 0.0,
                p95_ms=percentile(recent_ms, 95) if recent_ms else 0.0,
            )
        )


class Worker:
    """One worker, in its process."""

    def __init__(self, parent: Parent, target: AnyTarget, load: Load, number: int, count: int) -> None:
        self._parent = parent
        self._load = load
        self._number = number
        self._count = count
        self._route: Route | McpEngine
        if isinstance(target, McpTarget):
            self._route = mcp_engine_of(target, load, number, count)
        else:
            self._route = route_of(target, load.keep_alive)
            if self._route.tls_host is not None:
                tls_context(self._route.verify)  # It takes long to load certificates: not during the run.
        sys.setswitchinterval(_THREAD_SWITCH_S)
        gc.collect()
        gc.freeze()  # Objects that exist now stay: later collections look only at what requests leave behind.

    def open(self) -> bool:
        """Open the sessions of an MCP load; return False if that was stopped."""
        assert isinstance(self._route, McpEngine)
        is_open = False
        try:
            is_open = self._route.open(self._parent.stopped.is_set)
        finally:
            if not is_open:
                self._route.close()
                self._route.loop.close()
        return is_open

    def run(self, begin_at: float) -> SegmentEnd:
        """Send this worker's part of the load; reports go to the parent meanwhile."""
        reports: queue.SimpleQueue[WorkerReport | None] = queue.SimpleQueue()
        # In a thread of its own, so that a parent that is slow to read makes no request late.
        sender = threading.Thread(target=self._send_all, args=(reports,), name="fault-report", daemon=True)
        sender.start()
        try:
            return run_segment(
                self._route,
                self._load,
                begin_at,
                report=lambda counts, samples: reports.put((self._number, counts, samples)),
                stopped=self._parent.stopped.is_set,
                worker=self._number,
                workers=self._count,
            )
        finally:
            reports.put(None)
            sender.join()

    def _send_all(self, reports: queue.SimpleQueue[WorkerReport | None]) -> None:
        with contextlib.suppress(OSError):  # The parent has ended.
            while (report := reports.get()) is not None:
                self._parent.send(report)
