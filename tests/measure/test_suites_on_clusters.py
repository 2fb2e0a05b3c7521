"""Suites on a Dask cluster, and on the pods of a stand-in for Kubernetes (with FAULTKIT_KUBERNETES_BIN, of a
real API server, too). Real processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from faultkit.agents.report.reporters import REPORTERS
from faultkit.agents.shards.shard_run import run_cases, run_sharded_blocking
from faultkit.agents.shards.suite_plan import SuitePlan
from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.base.errors import InputError
from faultkit.base.process_identity import descendants_of
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.load.kubernetes_place import cluster as pods_of
from faultkit.load.place_names import open_place, parse_place
from faultkit.load.places import Place
from tests.agents.execute.suite_runs import HEAD, program, server_code, write
from tests.agents.shards.replayed_place import chosen_of, on_one_machine, planned, without_times
from tests.load.kubernetes.clusters import KINDS, Cluster, cluster_of
from tests.measure.test_dask_place import cluster as dask_cluster
from tests.measure.test_suites_on_places import QUICK, is_gone, suite_with_a_program, wait_until

SUITE = HEAD + "agents:\n" + "".join(map(QUICK.format, "abcde")) + "  - { name: f, agent: naive, skip: no }\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    return folder


def move_away(home: Path) -> None:
    """Let other machines not have the files, though they are this one."""
    home.rename(home.with_name("elsewhere"))


def run(chosen: list[SelectedTests], plan: SuitePlan, place: Place) -> SuiteResults:
    return without_times(run_sharded_blocking(chosen, RunOptions(), plan, nullcontext(place)).results)


def assert_equal(found: SuiteResults, wanted: SuiteResults) -> None:
    assert found == wanted
    for reporter in REPORTERS.values():
        assert reporter.render(found) == reporter.render(wanted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_report_of_one_machine(home: Path) -> None:
    chosen = chosen_of(write(home, SUITE))
    plan, one = planned(chosen), on_one_machine(chosen)
    move_away(home)
    with open_place(parse_place("dask:2")) as place:
        assert_equal(run(chosen, plan, place), one)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_of_a_dask_cluster_is_named(home: Path, tmp_path: Path) -> None:
    chosen = chosen_of(suite_with_a_program(home))
    with dask_cluster(tmp_path) as (made, place):
        started: list[int] = []

        def kill(row: ResultRow) -> None:
            if row.name == "b":
                wait_until((home / "pid").exists, "the program runs")
                pid = int((home / "pid").read_text())
                started.append(pid)
                (owner,) = [worker for worker in made.workers if pid in descendants_of(worker.pid)]
                owner.kill()

        plan = planned(chosen, parallel=1, timeout_s=600.0)
        options = RunOptions(parallel=1, timeout_s=600.0)
        results = run_sharded_blocking(chosen, options, plan, nullcontext(place), kill).results
    (lost,) = results.lost
    assert lost.worker.startswith("worker 2 of 2 (tcp://127.0.0.1:")
    assert [row.name for row in results.rows if row.unrun] == ["d"]
    wait_until(lambda: is_gone(started[0]), "the program of the killed worker has ended")


@pytest.fixture(scope="module", params=KINDS)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(request.param, tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def pods(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("KUBECONFIG", str(running.coordinator()))
    yield running
    wait_until(lambda: not running.left(), "no Job and no pod is left")


def test_pods_without_the_files_give_the_report_of_one_machine(pods: Cluster, home: Path) -> None:
    chosen = chosen_of(write(home, SUITE))
    plan, one = planned(chosen), on_one_machine(chosen)
    move_away(home)
    with pods_of(2, PodSettings()) as place:
        assert_equal(run(chosen, plan, place), one)


def test_a_program_that_the_image_lacks_is_an_error_before_any_test(pods: Cluster, home: Path) -> None:
    program(home, "server.py", server_code())
    server = f"s: {{ command: [{sys.executable}, {home}/server.py] }}"
    tests = "".join(f"  - {{ name: {name}, server: s, tool: search }}\n" for name in "ab")
    chosen = chosen_of(write(home, f"servers: {{ {server} }}\ntools:\n{tests}"))
    plan = planned(chosen)
    move_away(home)
    came: list[int] = []
    refused = (
        r'worker . of 2 \(pod .*\)\..*suite\.yml: server "s": expected the file .*server\.py on the worker'
    )
    with pods_of(2, PodSettings()) as place, pytest.raises(InputError, match=refused):
        run_cases(plan, place, lambda number, outcome: came.append(number))
    assert came == []


@pytest.mark.thorough
def test_a_killed_pod_is_named_and_its_test_is_not_run(pods: Cluster, home: Path) -> None:
    chosen = chosen_of(suite_with_a_program(home))

    def kill(row: ResultRow) -> None:
        if row.name == "b":
            wait_until((home / "pid").exists, "the program runs")
            pods.running()[1].kill()

    with pods_of(2, PodSettings()) as place:
        plan = planned(chosen, parallel=1, timeout_s=600.0)
        results = run_sharded_blocking(
            chosen, RunOptions(parallel=1, timeout_s=600.0), plan, nullcontext(place), kill
        ).results
    (lost,) = results.lost
    assert (lost.worker[:19], lost.why) == ("worker 2 of 2 (pod ", "Error, exit code 137")
    assert [row.name for row in results.rows if row.unrun] == ["d"]
    wait_until(lambda: is_gone(int((home / "pid").read_text())), "the program has ended")
