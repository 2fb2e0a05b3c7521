"""A single call, in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from faultkit.base.errors import RunError
from faultkit.load.defects import defects_logged
from faultkit.load.engine import Engine
from faultkit.load.route import route_of
from faultkit.load.samples import Sample
from faultkit.load.target import Target
from faultkit.proxy.eventloop import Loop

_LOOK_S = 0.1


@overload
def call_once(target: Target) -> Sample: ...
@overload
def call_once(target: Target, stopped: Callable[[], bool] | None) -> Sample | None: ...
def call_once(target: Target, stopped: Callable[[], bool] | None = None) -> Sample | None:
    """On a connection of its own. A call that fails is a sample, too.

    `stopped` is asked before the call and several times a second; once it says yes, there is no sample.
    """
    loop = Loop()
    engine = Engine(route_of(target, keep_alive=False), loop, loop.clock())
    once = _Once(engine, stopped)
    try:
        loop.call_at(loop.clock(), once.begin)
        with defects_logged():
            engine.run()
        for sample in engine.take_samples():
            return sample
    finally:
        engine.close()
        loop.close()
    if once.was_stopped:
        return None
    raise RunError("no connection can be made: this machine has no descriptor or port left")


class _Once:
    def __init__(self, engine: Engine, stopped: Callable[[], bool] | None) -> None:
        self._engine = engine
        self._stopped = stopped
        self.was_stopped = False

    def begin(self, at: float) -> None:
        self._look(at)
        if not self.was_stopped:
            self._engine.ask(self, None)

    def over(self, now: float) -> None:
        self._engine.loop.stop()

    def _look(self, at: float) -> None:
        if self._stopped is None:
            return
        loop = self._engine.loop
        if self._stopped():
            self.was_stopped = True
            loop.stop()
        else:
            loop.call_at(loop.clock() + _LOOK_S, self._look)
