"""One worker's part of a run, in this thread: an engine, its load model and progress reports; and single
calls.

An error keeps the traceback of a defect as a note, because notes are pickled with an error of another
process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, overload

from faultkit.base.descriptors import raise_descriptor_limit
from faultkit.base.errors import RunError
from faultkit.load.engine_base import LoadEngine
from faultkit.load.engines import McpEngine, engine_of, prepare
from faultkit.load.fold import Counts, SegmentEnd
from faultkit.load.load import AnyTarget, Load, McpTarget
from faultkit.load.load_models import start_load
from faultkit.load.route import Route, route_of
from faultkit.load.samples import Sample, Samples
from faultkit.proxy.event_loop import Loop

_TICK_S = 0.1


Report: TypeAlias = Callable[[Counts, Samples], None]
"""Called with the present counts and the samples since the last call."""


def run_segment(
    route: Route | McpEngine,
    load: Load,
    begin_at: float,
    *,
    report: Report,
    stopped: Callable[[], bool] = lambda: False,
    worker: int = 0,
    workers: int = 1,
) -> SegmentEnd:
    """Run until the duration is over and every request has ended, or until soon after `stopped` returns True.
    An engine for MCP has its sessions open already, and is closed at the end.

    `report` is called several times a second, in this thread."""
    raise_descriptor_limit()
    engine = engine_of(route, Loop(), begin_at) if isinstance(route, Route) else route
    loop = engine.loop
    try:
        engine.begin(begin_at)
        start_load(engine, load, begin_at, worker, workers)
        watch = _Watch(engine, report, stopped)
        loop.call_at(loop.clock(), watch.tick, None)
        loop.call_at(begin_at + load.duration_s, watch.finish, None)
        engine.run()
        total_s = max(loop.clock() - begin_at, 0.0)
        watch.report()
        return SegmentEnd(total_s, watch.cut_short)
    finally:
        engine.close()
        loop.close()


class _Watch:
    """Reports the progress of the engine at intervals, and ends the run."""

    def __init__(self, engine: LoadEngine[Any], report: Report, stopped: Callable[[], bool]) -> None:
        self._engine = engine
        self._report = report
        self._stopped = stopped
        self.cut_short = False

    def tick(self, at: float) -> None:
        loop = self._engine.loop
        self.report()
        if self._stopped():
            self.cut_short = True
            loop.stop()
        else:
            loop.call_at(loop.clock() + _TICK_S, self.tick, None)

    def report(self) -> None:
        engine = self._engine
        counts = Counts(
            engine.started, engine.errors, len(engine.pending), engine.dropped, engine.starved_count
        )
        self._report(counts, engine.take_samples())

    def finish(self, at: float) -> None:
        self._engine.finish()


_CHECK_S = 0.1


@overload
def call_once(target: AnyTarget) -> Sample: ...
@overload
def call_once(target: AnyTarget, stopped: Callable[[], bool] | None) -> Sample | None: ...
def call_once(target: AnyTarget, stopped: Callable[[], bool] | None = None) -> Sample | None:
    """Send one request on a new connection, and return its sample. A request that fails has one, too. A tool
    of an MCP server is called in a new session.

    `stopped` is called before the request and several times a second; once it returns True, the result is
    None."""
    with SingleCalls(target) as calls:
        return calls.make(stopped) if calls.open(stopped) else None


class SingleCalls:
    """Calls that follow each other, each on a new connection. Those of an MCP tool share a session."""

    def __init__(self, target: AnyTarget) -> None:
        self._target = target
        self._session: McpEngine | None = None

    def __enter__(self) -> SingleCalls:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._session is not None:
            _close(self._session)

    def open(self, stopped: Callable[[], bool] | None = None) -> bool:
        """Open the session, if the target has any; return False if that was stopped. Raises TargetError."""
        if not isinstance(self._target, McpTarget):
            return True
        prepared = prepare(self._target, _ONE_CLIENT, 0, 1, stopped or (lambda: False))
        assert not isinstance(prepared, Route)
        self._session = prepared
        return prepared is not None

    def make(self, stopped: Callable[[], bool] | None = None) -> Sample | None:
        """Make a call, and return its sample; None if it was stopped."""
        if self._session is not None:
            return _make(self._session, stopped)
        assert not isinstance(self._target, McpTarget), "the session is not open"
        engine = engine_of(route_of(self._target, keep_alive=False), Loop(), 0.0)
        try:
            return _make(engine, stopped)
        finally:
            _close(engine)


_ONE_CLIENT = Load(1.0, None, model="closed", keep_alive=False)


def _make(engine: LoadEngine[Any], stopped: Callable[[], bool] | None) -> Sample | None:
    loop = engine.loop
    once = _Once(engine, stopped)
    engine.begin(loop.clock())
    loop.call_at(loop.clock(), once.begin, None)
    with log_defects():
        engine.run()
    for sample in engine.take_samples():
        return sample
    if once.was_stopped:
        return None
    raise RunError("no connection can be made: this machine has no descriptor or port left")


def _close(engine: LoadEngine[Any]) -> None:
    engine.close()
    engine.loop.close()


class _Once:
    """The requester of a single call: it sends one request and stops the loop when that is over."""

    def __init__(self, engine: LoadEngine[Any], stopped: Callable[[], bool] | None) -> None:
        self._engine = engine
        self._stopped = stopped
        self.was_stopped = False
        self._is_over = False

    def begin(self, at: float) -> None:
        self._check(at)
        if not self.was_stopped:
            self._engine.ask(self, None)

    def over(self, now: float) -> None:
        self._is_over = True
        self._engine.loop.stop()

    def _check(self, at: float) -> None:
        if self._stopped is None or self._is_over:  # The loop may run on, for the next call.
            return
        loop = self._engine.loop
        if self._stopped():
            self.was_stopped = True
            loop.stop()
        else:
            loop.call_at(loop.clock() + _CHECK_S, self._check, None)


_log = logging.getLogger(__name__)


@contextmanager
def log_defects() -> Iterator[None]:
    """Log the tracebacks that a RunError of another process carries as notes."""
    try:
        yield
    except RunError as error:
        for note in getattr(error, "__notes__", ()):
            _log.error("%s\n%s", error, note)
        raise
