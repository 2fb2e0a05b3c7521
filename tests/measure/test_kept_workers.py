"""Worker processes that send one load after the other."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from faultkit.base.errors import RunError
from faultkit.load.kept_workers import KeptPlace
from faultkit.load.load import Load
from faultkit.load.local_workers import LocalPlace
from faultkit.load.workers import run_load
from tests.load.servers import OK, answering, serving, target_of


def pids_of(place: KeptPlace) -> list[int]:
    return [process.child.pid for process in place._processes.values()]


def test_a_process_is_used_again_until_it_is_lost_or_interrupted() -> None:
    with serving(answering(OK)) as server, KeptPlace(LocalPlace()) as place:
        target = target_of(server)
        for requests in (3, 8):
            load = Load((requests - 0.5) / 100, 100.0)
            result = run_load(target, load, on=place)
            assert (result.tally.requests, result.tally.dropped, result.cut_short) == (requests, 0, False)
            pids = pids_of(place)
            assert len(pids) == 1
        assert pids_of(place) == pids

        os.kill(pids[0], signal.SIGKILL)
        with pytest.raises(RunError):
            run_load(target, Load(0.1, 100.0), on=place)
        assert run_load(target, Load(0.045, 100.0), on=place).tally.requests == 5
        again = pids_of(place)
        assert again != pids

        stop = threading.Event()
        stop.set()
        assert run_load(target, Load(30.0, 100.0), on=place, stop=stop).cut_short
        assert run_load(target, Load(0.045, 100.0), on=place).tally.requests == 5
        assert pids_of(place) != again
