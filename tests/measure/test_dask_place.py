"""Loads from a Dask cluster: its schedule, its losses, and what is left after a crash. Real processes."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path

import dask
import pytest
import trustme
from distributed import Client, LocalCluster

from faultkit.base.errors import InputError, RunError
from faultkit.base.process_identity import descendants_of, is_same_process
from faultkit.load.dask_place import quiet_logs
from faultkit.load.load import Load, Progress, Target, instants
from faultkit.load.place_names import open_place, parse_place
from faultkit.load.places import Place
from faultkit.load.workers import LoadResult, run_load
from faultkit.scenario.report.report_files import read_report
from faultkit.scenario.scenario_file import read_scenarios
from faultkit.scenario.scenario_run import RunSettings, run_scenarios
from tests.demo.test_demo import demo
from tests.load.servers import OK, answering, read_request, serving, target_of, url_of

pytestmark = pytest.mark.filterwarnings("ignore")
"""Those of Dask, such as for sockets that a killed process leaves."""

PATIENCE_S = 60.0
WORKER = """
import sys
from faultkit.load import segment_host
from distributed.cli.dask_worker import main
segment_host.LEASE_S, segment_host.WAITING_S = 3.0, 10.0
main(sys.argv[1:])
"""


LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado.application", "asyncio")


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """A place whose scheduler was lost leaves Dask's log silent."""
    with ExitStack() as before:
        for name in LOGGERS:
            before.callback(logging.getLogger(name).setLevel, logging.getLogger(name).level)
        yield


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path, workers: int, *options: str) -> None:
        self._file = folder / "scheduler.json"
        self._stack = ExitStack()
        words = ("--host", "127.0.0.1", "--no-dashboard", *options)
        self.scheduler = self._start("-m", "distributed.cli.dask_scheduler", "--port", "0", *words)
        wait_until(self._file.exists, "the scheduler has started")
        words = (*words, "--no-nanny", "--nthreads", "1", "--death-timeout", "10")
        self.workers = [self._start("-c", WORKER, *words) for _ in range(workers)]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *words, "--scheduler-file", str(self._file)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    @property
    def address(self) -> str:
        return str(json.loads(self._file.read_text())["address"])

    @property
    def name(self) -> str:
        return self.address.replace("tcp://", "dask://")  # `tls://` is the same in both.

    def senders(self) -> dict[int, str]:
        """Return the processes that the workers have started, with their births."""
        return {pid: birth for worker in self.workers for pid, birth in descendants_of(worker.pid).items()}

    def close(self) -> None:
        self._stack.close()


@contextmanager
def cluster(folder: Path, workers: int = 2, *options: str) -> Iterator[tuple[Cluster, Place]]:
    made = Cluster(folder, workers, *options)
    try:
        with Client(made.address, timeout=PATIENCE_S) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(workers, timeout=PATIENCE_S)
        with open_place(parse_place(made.name)) as place:
            assert place.size == workers
            yield made, place
    finally:
        made.close()


def run_and_kill(place: Place, moment: str, kill: Callable[[], None]) -> LoadResult:
    """Run a load of two seconds, and call `kill` once at a moment of it."""
    at_s = {"before": inf, "middle": 1.2, "end": 1.9}[moment]
    kills = [kill]

    def watch(progress: Progress) -> None:
        if progress.elapsed_s > at_s and kills:
            kills.pop()()

    with serving(answering(OK)) as server:
        return run_load(
            target_of(server),
            Load(2.0, 40.0),
            on=place,
            on_begin=lambda at: kills.pop()() if moment == "before" else None,
            on_progress=watch,
        )


def test_a_cluster_made_for_the_run_sends_the_whole_schedule_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster that does not end in time does not hide the result."""
    close = LocalCluster.close

    def close_late(cluster: LocalCluster, timeout: float | None = None) -> None:
        close(cluster, timeout)
        raise TimeoutError

    monkeypatch.setattr(LocalCluster, "close", close_late)
    load = Load(1.5, 40.0, spacing="poisson", seed=5)
    with serving(answering(OK)) as server, open_place(parse_place("dask:2")) as place:
        result = run_load(target_of(server), load, on=place)
        again = run_load(target_of(server), Load(0.2, 20.0), on=place)
    rows = sorted(result.tally.samples)
    assert [row.intended for row in rows] == pytest.approx(list(instants(load)), abs=1e-6)
    assert [row.failure for row in rows] == [0] * len(rows)
    assert (result.lost, result.tally.lost, result.cut_short) == ((), 0, False)
    assert again.tally.requests == 4
    wait_until(lambda: not processes_of(os.getpid(), "faultkit.base", "spawn_main"), "the cluster has ended")


SCENARIO = """
title: on a cluster
items:
  - call: {method: GET, url: "http://%s/ping"}
    context:
      faults: [{type: latency, mean: 300, stddev: 0}]
      strategy: {mode: load, duration: 1s, clients: 1, rps: 40}
      slo:
        - {type: latency, title: p90, objective: 90, threshold: %d}
        - {type: error, title: errors, objective: 99, threshold: 1}
    expect: {all_slo_are_valid: true, status: 200}
"""


@pytest.mark.thorough
def test_the_verdict_is_the_same_wherever_the_load_is_sent_from() -> None:
    """A limit of 5 s is kept and one of 50 ms missed, on any machine: the fault alone takes 300 ms."""
    found = {}
    with demo() as service:
        for name in ("local:1", "local:4", "dask:4"):
            with open_place(parse_place(name)) as place:
                settings = RunSettings(seed=7, on=place, baseline=False)
                for limit_ms, verdict in ((5000, "passed"), (50, "failed")):
                    scenarios, problems = read_scenarios(SCENARIO % (service.endpoint, limit_ms))
                    assert problems == []
                    (item,) = run_scenarios(scenarios, settings).report.items
                    found[verdict, name] = (item.verdict, item.run.requests, item.degraded)
    wanted = {(verdict, name): (verdict, 40, ()) for verdict, name in found}
    assert found == wanted


MOMENTS = [
    "middle",
    pytest.param("before", marks=pytest.mark.thorough),
    pytest.param("end", marks=pytest.mark.thorough),
]


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_worker_is_named_and_its_segment_is_not_run_again(tmp_path: Path, moment: str) -> None:
    with cluster(tmp_path) as (made, place):
        result = run_and_kill(place, moment, made.workers[0].kill)
        (lost,) = result.lost
        assert lost.name.startswith("worker ")
        assert "of 2 (tcp://127.0.0.1:" in lost.name
        assert lost.planned == 40
        assert lost.measured == 0 if moment == "before" else lost.at_s is not None
        assert result.tally.requests == 40 + lost.measured
        assert result.tally.lost == 40 - lost.measured
        # The next run has a worker less than planned: that is a loss, too, and not a load of its own size.
        with serving(answering(OK)) as server:
            after = run_load(target_of(server), Load(0.5, 40.0), on=place)
        assert [each.why for each in after.lost] == ["the cluster has fewer workers than before"]
        assert (after.tally.requests, after.tally.lost) == (10, 10)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_without_its_scheduler_a_run_ends_and_names_all_workers(tmp_path: Path, moment: str) -> None:
    with cluster(tmp_path) as (made, place):
        if moment == "before":
            with pytest.raises(RunError, match=r"all 2 workers were lost \(worker 1 of 2 .*; worker 2 of 2 "):
                run_and_kill(place, moment, made.scheduler.kill)
        else:
            result = run_and_kill(place, moment, made.scheduler.kill)
            assert len(result.lost) == 2
            assert 0 < result.tally.requests < 80
            assert result.tally.lost == 80 - result.tally.requests
        wait_until(lambda: not made.senders(), "nothing sends any more")


@pytest.mark.slow
@pytest.mark.thorough
def test_a_scheduler_that_is_stopped_does_not_hold_the_end_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("_ANSWER_S", 2.0), ("_CLOSE_S", 0.5)):
        monkeypatch.setattr(f"faultkit.load.dask_place.{name}", seconds)
    with cluster(tmp_path) as (made, place):
        try:
            result = run_and_kill(place, "middle", lambda: made.scheduler.send_signal(signal.SIGSTOP))
            assert [each.why for each in result.lost] == [
                "the scheduler of Dask did not answer within 2 s" for _ in range(2)
            ]
            assert 0 < result.tally.requests < 80
            with pytest.raises(RunError, match=r"^the scheduler of Dask did not answer within 2 s$"):
                run_load(Target("GET", "http://127.0.0.1:9/"), Load(0.5, 40.0), on=place)
        finally:
            made.scheduler.send_signal(signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_dead_coordinator_leaves_no_process_behind(tmp_path: Path, moment: str) -> None:
    requests: list[int] = []

    def count(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            requests.append(number)
            connection.sendall(OK)

    with cluster(tmp_path) as (made, _), serving(count) as server:
        command = [sys.executable, "-m", "faultkit.load", url_of(server), "--rate", "40", "--duration", "4"]
        with subprocess.Popen([*command, "--on", made.name], stdout=subprocess.PIPE) as coordinator:
            wait_until(lambda: len(made.senders()) == 2, "the workers have a segment")
            if moment != "before":
                wait_until(lambda: len(requests) > {"middle": 40, "end": 150}[moment], "requests come")
            coordinator.send_signal(signal.SIGKILL)
        wait_until(lambda: not made.senders(), "nothing sends any more")


@pytest.mark.thorough
def test_a_dead_coordinator_takes_its_own_cluster_along() -> None:
    with serving(answering(OK)) as server:
        command = [sys.executable, "-m", "faultkit.load", url_of(server), "--rate", "40", "--duration", "60"]
        with subprocess.Popen([*command, "--on", "dask:2"], stdout=subprocess.PIPE) as coordinator:
            is_started = lambda: len(processes_of(coordinator.pid, "faultkit.base")) == 2  # noqa: E731
            wait_until(is_started, "the workers have a segment")
            family = descendants_of(coordinator.pid)
            coordinator.send_signal(signal.SIGKILL)
        wait_until(lambda: not any(is_same_process(*each) for each in family.items()), "all have ended")


@pytest.mark.thorough
def test_an_interrupt_in_the_terminal_ends_the_run_and_no_worker_counts_as_lost(tmp_path: Path) -> None:
    requests: list[int] = []

    def count(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            requests.append(number)
            connection.sendall(OK)

    with serving(count) as server:
        text = (SCENARIO % (server, 5000)).replace("duration: 1s", "duration: 60s")
        (tmp_path / "a.yaml").write_text(text)
        command = [sys.executable, "-m", "faultkit", "scenario", "run", "a.yaml", "--no-baseline"]
        with subprocess.Popen(
            [*command, "--on", "dask:2"],
            cwd=tmp_path,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as coordinator:
            wait_until(lambda: len(requests) > 40, "requests come")
            os.killpg(coordinator.pid, signal.SIGINT)
            _, err = coordinator.communicate(timeout=PATIENCE_S)
    assert coordinator.returncode == 130
    assert "Traceback" not in err
    (item,) = read_report(tmp_path / "results.json").items
    assert (item.verdict, item.degraded) == ("unfinished", ())


def processes_of(pid: int, *parts: str) -> list[str]:
    """Return the commands of those descendants of a process that have one of these parts."""
    words = ["ps", "-o", "args=", "-p", ",".join(map(str, descendants_of(pid))) or "0"]
    listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
    return [line for line in listed if any(part in line for part in parts)]


@pytest.mark.thorough
def test_a_cluster_behind_tls_is_reached_with_the_configuration_of_dask(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    identity = authority.issue_cert("127.0.0.1")
    identity.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    ca, both = str(tmp_path / "ca.pem"), str(tmp_path / "both.pem")
    tls = "distributed.comm.tls"
    with (
        dask.config.set({f"{tls}.ca-file": ca, f"{tls}.client.cert": both, f"{tls}.client.key": both}),
        cluster(
            tmp_path,
            1,
            *("--protocol", "tls", "--tls-ca-file", ca, "--tls-cert", both, "--tls-key", both),
        ) as (made, place),
        serving(answering(OK)) as server,
    ):
        assert made.name.startswith("tls://127.0.0.1:")
        result = run_load(target_of(server), Load(0.3, 20.0), on=place)
    assert (result.tally.requests, result.lost) == (6, ())


def test_errors_of_dask_do_not_come_between_our_lines() -> None:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [each.isEnabledFor(logging.ERROR) for each in loggers]
    with quiet_logs():
        assert not any(each.isEnabledFor(logging.ERROR) for each in loggers)
    assert [each.isEnabledFor(logging.ERROR) for each in loggers] == before == [True] * 5


def test_a_cluster_that_is_not_there_is_refused(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.load.dask_place._CONNECT_S", 0.5)
    place = parse_place(f"dask://127.0.0.1:{closed_port}")
    with pytest.raises(
        InputError, match=rf"--on: expected a Dask scheduler at tcp://127.0.0.1:{closed_port}"
    ):
        with open_place(place):
            pass
