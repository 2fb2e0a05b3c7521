"""Loads from worker processes: their sums, progress, stopping, and errors."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from math import inf

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.load.load import Load, Progress, Target, instants
from faultkit.load.local_workers import LocalPlace
from faultkit.load.workers import run_load
from tests.load.servers import OK, PATIENCE_S, answering, read_request, serving, target_of, url_of


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_together_send_the_whole_schedule(workers: int) -> None:
    load = Load(0.3, 100.0)
    with serving(answering(OK)) as server:
        result = run_load(target_of(server), load, on=LocalPlace(workers))
    rows = sorted(result.tally.samples)
    assert [row.intended for row in rows] == pytest.approx(list(instants(load)), abs=1e-6)
    assert [row.failure for row in rows] == [0] * 30
    assert (result.dropped, result.cut_short) == (0, False)
    assert result.total_s >= 0.3
    summary = result.tally.summary(load, total_s=result.total_s)
    assert (summary.requests, summary.errors, summary.statuses) == (30, 0, {200: 30})


def test_clients_of_a_closed_load_are_shared_out() -> None:
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)
        while read_request(connection):
            connection.sendall(OK)

    with serving(serve) as server:
        result = run_load(target_of(server), Load(0.1, None, 5, "closed"), on=LocalPlace(2))
    assert len(connections) == 5
    assert result.tally.requests >= 5


def test_there_are_never_more_workers_than_clients() -> None:
    with serving(answering(OK)) as server:
        result = run_load(target_of(server), Load(0.1, 20.0, 1, "closed"), on=LocalPlace(3))
    assert 1 <= result.tally.requests <= 2


def test_a_run_begins_at_the_given_time() -> None:
    begin_at = time.monotonic() + 1.0
    with serving(answering(OK)) as server:
        result = run_load(target_of(server), Load(0.05, 20.0), begin_at=begin_at)
    assert result.started_at == begin_at
    assert all(row.started >= 0 for row in result.tally.samples)
    assert time.monotonic() >= begin_at + 0.05


def test_the_time_at_which_a_run_begins_may_be_chosen_when_its_workers_are_ready() -> None:
    chosen: list[float] = []

    def begin_at() -> float:
        chosen.append(time.monotonic() + 0.1)
        return chosen[-1]

    with serving(answering(OK)) as server:
        result = run_load(target_of(server), Load(0.05, 20.0), begin_at=begin_at)
    assert [result.started_at] == chosen


def test_dropped_arrivals_of_all_workers_are_counted() -> None:
    release = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            release.wait(5)
            connection.sendall(OK)

    with serving(serve) as server:
        result = run_load(
            target_of(server),
            Load(0.5, 100.0, most_in_flight=3),
            on=LocalPlace(2),
            on_progress=lambda progress: release.set() if progress.elapsed_s > 0.5 else None,
        )
    assert result.tally.requests + result.dropped == 50
    assert result.dropped == result.tally.dropped > 0


def test_progress_is_reported_during_a_run() -> None:
    seen: list[Progress] = []
    with serving(answering(OK)) as server:
        run_load(target_of(server), Load(0.8, 100.0), on_progress=seen.append)
    assert len(seen) >= 3
    assert [progress.started for progress in seen] == sorted(progress.started for progress in seen)
    assert all(progress.done + progress.in_flight == progress.started for progress in seen)
    assert (seen[-1].done, seen[-1].errors) == (80, 0)
    assert seen[-1].p95_ms >= seen[-1].p50_ms > 0


def test_a_stopped_run_keeps_its_measurements() -> None:
    stop = threading.Event()

    def watch(progress: Progress) -> None:
        if progress.done >= 10:
            stop.set()

    with serving(answering(OK)) as server:
        result = run_load(
            target_of(server), Load(600.0, 100.0), on=LocalPlace(2), on_progress=watch, stop=stop
        )
    assert result.cut_short
    assert result.tally.requests >= 10
    assert result.total_s < 600


def test_a_target_that_is_not_there_is_a_result(closed_port: int) -> None:
    result = run_load(Target("GET", f"http://127.0.0.1:{closed_port}/"), Load(0.1, 50.0))
    summary = result.tally.summary(Load(0.1, 50.0), total_s=result.total_s)
    assert (summary.requests, summary.failures) == (5, {"refused": 5})


def test_bad_input_is_refused_before_anything_starts() -> None:
    with pytest.raises(InputError, match="url"):
        run_load(Target("GET", "nowhere"), Load(0.1, 50.0))
    with pytest.raises(InputError, match="workers"):
        LocalPlace(0)


@pytest.mark.parametrize("when", ["before", "middle", "end"])
def test_a_worker_that_dies_is_named_and_its_part_is_not_run_again(when: str) -> None:
    killed = threading.Event()
    seen: list[int] = []

    def kill_one() -> None:
        if not killed.is_set():
            os.kill(_a_child(), signal.SIGKILL)
            killed.set()

    def watch(progress: Progress) -> None:
        if progress.elapsed_s > {"before": inf, "middle": 0.4, "end": 0.9}[when]:
            kill_one()

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            seen.append(number)
            if len(seen) > 30:
                killed.wait(PATIENCE_S)  # The run cannot end before.
            connection.sendall(OK)

    with serving(serve) as server:
        result = run_load(
            target_of(server),
            Load(1.0, 60.0),
            on=LocalPlace(3),
            begin_at=lambda: time.monotonic() + 1.0,
            on_begin=lambda at: kill_one() if when == "before" else None,
            on_progress=watch,
        )
    (lost,) = result.lost
    assert re.fullmatch("load worker [1-3] of 3", lost.name)
    assert (lost.why, lost.planned, result.cut_short) == ("it was ended by SIGKILL", 20, False)
    assert (lost.at_s is None) == (when == "before")
    assert lost.measured == 0 if when == "before" else 0 < lost.measured < 20
    # The other two sent all of their parts, and nothing but their parts.
    assert result.tally.requests == 40 + lost.measured
    assert result.tally.lost == 20 - lost.measured
    assert result.total_s >= 1.0


def test_without_any_worker_left_the_run_ends_with_an_error() -> None:
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.done and not killed:
            killed.append(_a_child())
            os.kill(killed[0], signal.SIGKILL)

    with (
        serving(answering(OK)) as server,
        pytest.raises(RunError, match=r"load worker 1 of 1: it was ended by SIGKILL"),
    ):
        run_load(target_of(server), Load(600.0, 50.0), on_progress=kill_one)


class Spoilt(float):
    """A timeout that is valid at the start of a load and raises when it is read again."""

    sums = 0

    def __radd__(self, other: float) -> float:
        type(self).sums += 1
        if self.sums > 1:
            raise ArithmeticError("a spoilt number")
        return other + float(self)


def test_a_defect_in_a_worker_ends_the_run_and_is_in_the_log_of_this_process(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        serving(answering(OK)) as server,
        pytest.raises(RunError, match="the load engine failed; the log says where"),
    ):
        run_load(target_of(server, timeout_s=Spoilt(0.05)), Load(600.0, 50.0))
    assert "Traceback" in caplog.text
    assert "in _expire" in caplog.text
    assert "ArithmeticError: a spoilt number" in caplog.text
    assert capfd.readouterr().err == ""


def _a_child() -> int:
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=True
    )
    return int(
        next(line for line in listed.stdout.splitlines() if "faultkit.base.child_process" in line).split()[0]
    )


def test_the_command_prints_figures_for_machines() -> None:
    with serving(answering(OK)) as server:
        words = [url_of(server), "--rate", "50", "--duration", "0.2", "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "faultkit.load", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    figures = json.loads(done.stdout)
    assert (figures["requests"], figures["errors"], figures["dropped"]) == (10, 0, 0)


def test_the_command_takes_methods_in_small_letters() -> None:
    seen = []

    def serve(connection: socket.socket, number: int) -> None:
        while request := read_request(connection):
            seen.append(request[:7])
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")

    with serving(serve) as server:
        command = [sys.executable, "-m", "faultkit.load", url_of(server), "--method", "head"]
        words = ["--rate", "20", "--duration", "0.1", "--json"]
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(done.stdout)["errors"] == 0
    assert seen == [b"HEAD / "] * 2


def test_the_command_refuses_invalid_arguments() -> None:
    command = [sys.executable, "-m", "faultkit.load"]
    for words in (["nowhere"], ["http://127.0.0.1/", "--duration", "-1"]):
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 2
        assert "expected" in done.stderr
