"""Whole runs from the pods of a cluster, with the rights of the coordinator's Role only.

The API server is a stand-in, and with FAULTKIT_KUBERNETES_BIN a real one, too; the pods are processes of this
machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from faultkit.base.errors import RunError
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.load.kubernetes_place import cluster
from faultkit.load.load import Load, Progress, instants
from faultkit.load.workers import LoadResult, run_load
from tests.load.kubernetes.clusters import KINDS, Cluster, cluster_of
from tests.load.kubernetes.real_cluster import RealCluster
from tests.load.servers import OK, answering, serving, target_of, url_of

PATIENCE_S = 60.0
SCENARIO = """
title: on a cluster
items:
  - call: {method: GET, url: "%s"}
    context:
      faults: [{type: latency, mean: 300, stddev: 0}]
      strategy: {mode: load, duration: %s, clients: 1, rps: 40}
      slo:
        - {type: latency, title: p90, objective: 90, threshold: 5000}
    expect: {all_slo_are_valid: true, status: 200}
"""


@pytest.fixture(scope="module", params=KINDS)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(request.param, tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def pods(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("KUBECONFIG", str(running.coordinator()))
    yield running
    wait_until(lambda: not running.left(), "no Job and no pod is left")


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def fault(folder: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "faultkit", "scenario", "run", "a.yaml", *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_and_kill(count: int, moment: str, kill: Callable[[], None]) -> LoadResult:
    """Run a load of two seconds from two pods, and call `kill` once at a moment of it."""
    at_s = {"middle": 1.2, "end": 1.9}.get(moment, 0.0)
    kills = [kill]

    def watch(progress: Progress) -> None:
        if moment != "before" and progress.elapsed_s > at_s and kills:
            kills.pop()()

    with serving(answering(OK)) as server, cluster(count, PodSettings()) as place:
        return run_load(
            target_of(server),
            Load(2.0, 40.0),
            on=place,
            on_begin=lambda at: kills.pop()() if moment == "before" else None,
            on_progress=watch,
        )


def test_pods_send_the_whole_schedule(pods: Cluster) -> None:
    load = Load(1.5, 60.0, spacing="poisson", seed=5)
    with serving(answering(OK)) as server, cluster(3, PodSettings()) as place:
        result = run_load(target_of(server), load, on=place)
    rows = sorted(result.tally.samples)
    assert [row.intended for row in rows] == pytest.approx(list(instants(load)), abs=1e-6)
    assert [row.failure for row in rows] == [0] * len(rows)
    assert (result.lost, result.tally.lost, result.cut_short) == ((), 0, False)


@pytest.mark.parametrize(
    "moment",
    [
        "middle",
        pytest.param("before", marks=pytest.mark.thorough),
        pytest.param("end", marks=pytest.mark.thorough),
    ],
)
def test_a_failed_index_is_named_and_not_run_again(pods: Cluster, moment: str) -> None:
    result = run_and_kill(2, moment, lambda: pods.running()[1].kill())
    (lost,) = result.lost
    assert lost.name.startswith("worker 2 of 2 (pod faultkit-")
    assert lost.name.endswith(" on stand-in)")
    assert lost.why == "Error, exit code 137"
    assert (lost.planned, lost.at_s is None) == (40, moment == "before"), lost
    assert result.tally.requests == 40 + lost.measured
    assert result.tally.lost == 40 - lost.measured


def test_a_run_without_any_pod_left_is_an_error(pods: Cluster) -> None:
    with pytest.raises(RunError, match=r"worker 1 of 1 \(pod .*\): Error, exit code 137"):
        run_and_kill(1, "before", lambda: pods.running()[0].kill())


def test_a_scenario_gives_one_report(pods: Cluster, tmp_path: Path) -> None:
    with serving(answering(OK)) as server:
        (tmp_path / "a.yaml").write_text(SCENARIO % (url_of(server), "1s"))
        with fault(tmp_path, "--on", "kubernetes:2", "--no-baseline", "--seed", "7") as process:
            out, err = process.communicate()
    assert process.returncode == 0, out + err
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["on"] == "kubernetes:2"
    (item,) = results["scenarios"][0]["items"]
    assert (item["verdict"], item["run"]["requests"], item["degraded"]) == ("passed", 40, [])


@pytest.mark.parametrize("moment", ["middle", pytest.param("before", marks=pytest.mark.thorough)])
def test_a_dead_coordinator_leaves_nothing_behind(pods: Cluster, tmp_path: Path, moment: str) -> None:
    """The input of the pods ends with it; the TTL of the Job, which has ended, deletes all."""
    (tmp_path / "pods.yaml").write_text("delete_after: 1s\nstart_within: 5s")
    with serving(answering(OK)) as server:
        (tmp_path / "a.yaml").write_text(SCENARIO % (url_of(server), "60s"))
        with fault(tmp_path, "--on", "kubernetes:2", "--pods", "pods.yaml", "--no-baseline") as process:
            wait_until(lambda: len(pods.running()) == 2, "the pods run")
            if moment == "middle":
                senders = {each.pid for each in pods.running().values()}
                wait_until(lambda: all(map(_children, senders)), "the pods have a segment")
            os.kill(process.pid, signal.SIGKILL)
        if moment == "middle":
            wait_until(lambda: not pods.running(), "the pods have ended")


def _children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


def test_an_interrupted_run_deletes_its_job(pods: Cluster, tmp_path: Path) -> None:
    with serving(answering(OK)) as server:
        (tmp_path / "a.yaml").write_text(SCENARIO % (url_of(server), "60s"))
        with fault(tmp_path, "--on", "kubernetes:2", "--no-baseline") as process:
            wait_until(lambda: len(pods.running()) == 2, "the pods run")
            wait_until(lambda: all(_children(each.pid) for each in pods.running().values()), "they work")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130


def test_a_dry_run_prints_what_would_be_made_and_makes_nothing(pods: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SCENARIO % ("http://127.0.0.1:9/", "90s"))
    (tmp_path / "pods.yaml").write_text("image: registry.example/faultkit:1\nnamespace: faultkit")
    words = ("--on", "kubernetes:8", "--pods", "pods.yaml", "--proxy-address", "10.0.0.9:3180")
    with fault(tmp_path, *words, "--dry-run") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    (job,) = yaml.safe_load_all(out)
    kubernetes_validate.validate(job, "1.36", strict=True)
    assert job["spec"]["completions"] == 8
    assert job["spec"]["activeDeadlineSeconds"] == 120 + 90 + 30 + 60
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/faultkit:1"
    assert pods.left() == []
    if isinstance(pods, RealCluster):
        said = pods.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input_=out)
        assert said == f"job.batch/{job['metadata']['name']} created (server dry run)\n"
