"""A single call, in this process."""

from __future__ import annotations

import time

from faultkit.errors import RunError
from faultkit.eventloop import Loop
from faultkit.load.engine import Engine
from faultkit.load.route import route_of
from faultkit.load.samples import Sample
from faultkit.load.target import Target


def call_once(target: Target) -> Sample:
    """On a connection of its own. A call that fails is a sample, too."""
    route = route_of(target, keep_alive=False)
    loop = Loop()
    engine = Engine(route, loop, time.monotonic())
    try:
        engine.loop.call_at(0.0, lambda at: engine.ask(_Once(loop), None))
        engine.run()
        for sample in engine.take_samples():
            return sample
    finally:
        engine.close()
        loop.close()
    raise RunError("no connection can be made: this machine has no descriptor or port left")


class _Once:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def over(self, now: float) -> None:
        self._loop.stop()
