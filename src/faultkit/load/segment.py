"""One worker's part of a run, in this thread: an engine, those who ask it, and word of it now and then."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.load.askers import start_asking
from faultkit.load.engine import Engine
from faultkit.load.load import Load
from faultkit.load.route import Route
from faultkit.load.samples import Samples
from faultkit.proxy.eventloop import Loop

_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Counts:
    """So far."""

    started: int
    errors: int
    in_flight: int
    dropped: int


Tell: TypeAlias = Callable[[Counts, Samples], None]
"""Gets what is new: the counts as they are, and the samples since the last time."""


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    total_s: float
    cut_short: bool


def run_segment(
    route: Route,
    load: Load,
    begin_at: float,
    *,
    tell: Tell,
    stopped: Callable[[], bool] = lambda: False,
    worker: int = 0,
    workers: int = 1,
) -> SegmentEnd:
    """Returns when the duration is over and every request has come to its end, or soon after `stopped`."""
    allow_many_connections()
    loop = Loop()
    engine = Engine(route, loop, begin_at)
    try:
        start_asking(engine, load, begin_at, worker, workers)
        watch = _Watch(engine, tell, stopped)
        loop.call_at(loop.clock(), watch.look)
        loop.call_at(begin_at + load.duration_s, watch.finish)
        engine.run()
        total_s = max(loop.clock() - begin_at, 0.0)
        watch.tell()
        return SegmentEnd(total_s, watch.cut_short)
    finally:
        engine.close()
        loop.close()


class _Watch:
    """Looks at the engine from time to time, and ends the run."""

    def __init__(self, engine: Engine, tell: Tell, stopped: Callable[[], bool]) -> None:
        self._engine = engine
        self._tell = tell
        self._stopped = stopped
        self.cut_short = False

    def look(self, at: float) -> None:
        loop = self._engine.loop
        self.tell()
        if self._stopped():
            self.cut_short = True
            loop.stop()
        else:
            loop.call_at(loop.clock() + _TICK_S, self.look)

    def tell(self) -> None:
        engine = self._engine
        counts = Counts(engine.started, engine.errors, len(engine.pending), engine.dropped)
        self._tell(counts, engine.take_samples())

    def finish(self, at: float) -> None:
        self._engine.finish()


def allow_many_connections() -> None:
    """As many as the system lets this process have without asking."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
