"""A load on one target from one or more workers, which all start at the same time: the coordinator.

It splits the load into segments, one for each worker of a place (`faultkit.load.places`), and merges what
they measure. A worker that is lost is not replaced, and its segment is not run again: the result lists it,
with the requests of which nothing is known.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite

from faultkit.base.address import is_loopback
from faultkit.base.errors import InputError, RunError
from faultkit.base.network import new_token
from faultkit.base.sample_statistics import percentile
from faultkit.load.clock_offset import MOST_UNCERTAIN_S, SAME_CLOCK, ClockOffset, measure_offset
from faultkit.load.early_stop import Stop
from faultkit.load.engines import endpoint_of
from faultkit.load.expectation import Expectation
from faultkit.load.fold import Counts, Fold, LostWorker, SegmentEnd
from faultkit.load.fold_lines import WorkerLost
from faultkit.load.load import AnyTarget, Load, Progress, planned_requests
from faultkit.load.local_workers import LocalPlace
from faultkit.load.places import Machine, Place, SegmentWorker
from faultkit.load.segment import log_defects
from faultkit.load.split import LoadPlan, Segment, split
from faultkit.load.tally import Tally, exact_limit

_CHECK_S = 0.1
_RECENT = 500
_RECENT_OF_FOLD = 50
_WAITING = 100
"""Folds that may wait for the coordinator; then the workers wait."""
_OVERTIME_S = 30.0
"""Seconds after the last possible end of a request in which a worker must have ended."""
_GRACE_S = 2.0
"""Seconds in which workers that are stopped before they are ready may end in good order."""


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
    lost: tuple[LostWorker, ...] = ()
    """The workers that did not finish their part: then the run is degraded."""


def run_load(
    target: AnyTarget,
    load: Load,
    *,
    on: Place = LocalPlace(),  # noqa: B008
    expect: Expectation = Expectation(),  # noqa: B008
    begin_at: float | Callable[[], float] | None = None,
    on_begin: Callable[[float], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_measured: Callable[[Tally, int], None] | None = None,
    stop: Stop | None = None,
) -> LoadResult:
    """Send `load` to `target` and return what was measured. Failures of the target are results, not errors.

    `begin_at` (monotonic) must leave the workers some tenths of a second to start; a function is called when
    they have started, so that several loads can begin together. `on_begin` is called with the start time
    shortly before it, so that faults can begin with the load. `on_progress` is called in this thread, several
    times a second; `on_measured`, about once a second, with all that was measured so far and the number of
    requests under way. Once `stop` is set, the run ends and keeps what it has. Requests that miss `expect`
    are counted in the tally.
    """
    endpoint = endpoint_of(target, load.keep_alive)
    plan = LoadPlan(target, load, expect)
    segments = split(plan, [new_token() for _ in range(min(on.size, plan.most_parts))])
    with log_defects(), ThreadPoolExecutor(len(segments)) as threads, ExitStack() as stack:
        workers = on.start(segments)
        for worker in workers:
            stack.callback(worker.close)
        crew = _Crew(plan, segments, workers)
        is_local = endpoint is not None and is_loopback(endpoint.host)
        if not crew.get_ready(threads, str(endpoint), is_local, stop):
            return LoadResult(Tally(), 0, time.monotonic(), 0.0, cut_short=True)
        if callable(begin_at):
            begin_at = begin_at()
        started_at = time.monotonic() + on.margin_s if begin_at is None else begin_at
        if on_begin is not None:
            on_begin(started_at)
        collector = _Collector(exact_limit(load), started_at, on_progress, on_measured)
        crew.run(threads, collector, stop)
        return crew.result(collector)


class _Crew:
    """All workers of a run."""

    def __init__(self, plan: LoadPlan, segments: Sequence[Segment], workers: Sequence[SegmentWorker]) -> None:
        self._plan = plan
        self._segments = segments
        self._workers = dict(enumerate(workers))
        """Those that are not lost, by share."""
        self._all = workers
        self._clocks: dict[int, ClockOffset] = {}
        self._lost: dict[int, tuple[float, str]] = {}
        """When each lost worker was missed, on the monotonic clock, and why."""
        self._ends: dict[int, SegmentEnd] = {}
        self._defect: Exception | None = None

    def get_ready(
        self, threads: ThreadPoolExecutor, endpoint: str, is_local: bool, stop: Stop | None
    ) -> bool:
        """Wait for all workers and read their clocks; return False soon after `stop` is set: pods may wait
        for their images, and sessions may take long to open. Raises InputError if the run cannot be as
        planned."""
        here = Machine.here()
        answers = {share: threads.submit(worker.ready) for share, worker in self._workers.items()}
        for share, worker in list(self._workers.items()):
            while not _is_set(stop) and not wait([answers[share]], _CHECK_S).done:
                pass
            if _is_set(stop):
                self._interrupt()
                wait(answers.values(), _GRACE_S)
                return False
            try:
                there = answers[share].result()
                if is_local and there.network != here.network:
                    raise InputError(
                        worker.name,
                        f"expected an address that it can reach, got {endpoint}, which is of this machine "
                        "(for the proxy of a scenario: --proxy-address)",
                    )
                self._clocks[share] = SAME_CLOCK if there.clock == here.clock else offset_of(worker)
            except WorkerLost as error:
                self._lose(share, error)
        if not self._workers:
            raise RunError(self._who_was_lost())
        return True

    def _interrupt(self) -> None:
        for worker in self._workers.values():
            worker.interrupt()

    def run(self, threads: ThreadPoolExecutor, collector: _Collector, stop: Stop | None) -> None:
        """Run all segments, and collect folds until each worker has ended or is lost."""
        inbox = _Inbox()
        running = {
            share: threads.submit(
                worker.run,
                collector.started_at + self._clocks[share].offset_s,
                partial(inbox.put, share),
            )
            for share, worker in self._workers.items()
        }
        load, target = self._plan.load, self._plan.target
        deadline = collector.started_at + load.duration_s + target.timeout_s + _OVERTIME_S
        interrupted = False

        def check() -> None:
            nonlocal interrupted
            broken = self._reap(running, deadline)
            if not interrupted and (broken or _is_set(stop)):
                interrupted = True
                self._interrupt()
            collector.show_sometimes()

        try:
            while True:
                check()
                fold = inbox.take(_CHECK_S if running else 0)
                if fold is not None:
                    collector.take(*fold, meanwhile=check)
                elif not running:
                    collector.show()
                    break
        finally:
            inbox.close()

    def _reap(self, running: dict[int, Future[SegmentEnd]], deadline: float) -> bool:
        """Note which workers have ended or are lost; return whether there was a defect, which makes the
        others useless."""
        is_late = time.monotonic() > deadline
        for share, end in list(running.items()):
            if not (is_late or end.done()):
                continue
            del running[share]
            try:
                self._ends[share] = end.result(timeout=0)
            except TimeoutError:
                self._lose(share, WorkerLost("it did not end in time"))
            except WorkerLost as error:
                self._lose(share, error)
            except Exception as error:
                self._defect = self._defect or error
        return self._defect is not None

    def _lose(self, share: int, error: WorkerLost) -> None:
        self._lost[share] = time.monotonic(), str(error)
        self._workers.pop(share).close()

    def result(self, collector: _Collector) -> LoadResult:
        """Return the outcome. Raises a defect of a worker, and RunError if the only worker was lost, or all
        before anything was measured."""
        if self._defect is not None:
            raise self._defect
        tally = collector.tally
        if not self._ends and (len(self._segments) == 1 or not tally.requests):
            raise RunError(self._who_was_lost())
        lost = tuple(self._loss_of(share, collector) for share in sorted(self._lost))
        for each in lost:
            missing = each.missing
            tally.lost = None if tally.lost is None or missing is None else tally.lost + missing
        return LoadResult(
            tally=tally,
            dropped=tally.dropped,
            started_at=collector.started_at,
            total_s=max([end.total_s for end in self._ends.values()] or [each.at_s or 0.0 for each in lost]),
            cut_short=any(end.cut_short for end in self._ends.values()),
            lost=lost,
        )

    def _loss_of(self, share: int, collector: _Collector) -> LostWorker:
        at, why = self._lost[share]
        return LostWorker(
            self._all[share].name,
            at - collector.started_at if at > collector.started_at else None,
            why,
            planned_requests(self._plan.load, share, len(self._segments)),
            collector.measured[share],
            collector.dropped(share),
        )

    def _who_was_lost(self) -> str:
        texts = [f"{self._all[share].name}: {self._lost[share][1]}" for share in sorted(self._lost)]
        return texts[0] if len(texts) == 1 else f"all {len(texts)} workers were lost ({'; '.join(texts)})"


def _is_set(stop: Stop | None) -> bool:
    return stop is not None and stop.is_set()


def offset_of(worker: SegmentWorker) -> ClockOffset:
    """Return how far the clock of a worker is from this one. Raises InputError if that is too uncertain."""
    offset = measure_offset(worker.clock, time.monotonic)
    if offset.usable:
        return offset
    got = "one that was set meanwhile"
    if isfinite(offset.uncertain_s):
        got = f"{offset.uncertain_s * 1000:.0f} ms: its answers take too long"
    raise InputError(
        worker.name, f"expected a clock that can be read to {MOST_UNCERTAIN_S * 1000:g} ms, got {got}"
    )


class _Inbox:
    """Folds on their way from the threads of the workers to the coordinator."""

    def __init__(self) -> None:
        self._folds: queue.Queue[tuple[int, Fold]] = queue.Queue(_WAITING)
        self._closed = threading.Event()

    def put(self, share: int, fold: Fold) -> None:
        """Add a fold; wait while there are too many, so that none are piled up here."""
        while not self._closed.is_set():
            try:
                self._folds.put((share, fold), timeout=_CHECK_S)
                return
            except queue.Full:
                continue

    def take(self, timeout_s: float) -> tuple[int, Fold] | None:
        """Return the next fold; None if there is none in time."""
        try:
            return self._folds.get(timeout=timeout_s) if timeout_s else self._folds.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        """Let go of threads that wait, and drop what comes later."""
        self._closed.set()


class _Collector:
    """The folds of all workers so far, merged."""

    def __init__(
        self,
        limit: int,
        started_at: float,
        on_progress: Callable[[Progress], None] | None,
        on_measured: Callable[[Tally, int], None] | None,
    ) -> None:
        self.tally = Tally(limit=limit)
        self.started_at = started_at
        self.measured: Counter[int] = Counter()
        """Requests by share."""
        self._on_progress = on_progress
        self._on_measured = on_measured
        self._counts: dict[int, Counts] = {}
        self._recent: deque[float] = deque(maxlen=_RECENT)
        """Recent response times, in seconds."""
        self._shown_at = -inf

    def take(self, share: int, fold: Fold, *, meanwhile: Callable[[], None]) -> None:
        """Merge a fold. `meanwhile` is called repeatedly if that takes long."""
        self._counts[share] = fold.counts
        self.measured[share] += fold.tally.requests
        self.tally.merge(fold.tally, meanwhile)
        self.tally.dropped = sum(each.dropped for each in self._counts.values())
        self.tally.starved = sum(each.starved for each in self._counts.values())
        if self._on_progress is not None and fold.tally.requests:
            # Some of them, evenly spread over the sorted times: a fold may have thousands.
            times = fold.tally.windows(inf, 1)[0].response
            step = max(1, len(times) // _RECENT_OF_FOLD)
            self._recent.extend(times[number] for number in range(step // 2, len(times), step))
        if self._on_measured is not None:
            self._on_measured(self.tally, self._in_flight())

    def _in_flight(self) -> int:
        return sum(each.in_flight for each in self._counts.values())

    def dropped(self, share: int) -> int:
        """Return how many arrivals a worker has dropped."""
        counts = self._counts.get(share)
        return counts.dropped if counts else 0

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
        in_flight = self._in_flight()
        started = sum(each.started for each in counts)
        self._on_progress(
            Progress(
                elapsed_s=now - self.started_at,
                started=started,
                done=started - in_flight,
                errors=sum(each.errors for each in counts),
                in_flight=in_flight,
                dropped=self.tally.dropped,
                p50_ms=percentile(recent_ms, 50) if recent_ms else 0.0,
                p95_ms=percentile(recent_ms, 95) if recent_ms else 0.0,
            )
        )
