"""What a user is told about a cluster that cannot run a load, and how pods are talked to.

With FAULTKIT_KUBERNETES_BIN, the same tests run against a real API server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.load.fold_lines import WorkerLost
from faultkit.load.kubernetes.cluster_api import Unavailable
from faultkit.load.kubernetes.manifests import RIGHTS, job_manifest
from faultkit.load.kubernetes.pod_settings import PodSettings, parse_pod_settings
from faultkit.load.kubernetes_place import ClusterPlace, JobRun, cluster, job_of
from faultkit.load.load import Load, Target
from faultkit.load.places import Machine
from faultkit.load.split import LoadPlan, Segment, split
from faultkit.load.workers import offset_of, run_load
from tests.load.kubernetes.clusters import KINDS, Cluster, cluster_of
from tests.load.kubernetes.stand_in_cluster import StandInCluster
from tests.load.kubernetes.test_pod_settings import ACCEPTED

PLAN = LoadPlan(Target("GET", "http://127.0.0.1:9/"), Load(duration_s=1.0, rate_rps=10.0))


@pytest.fixture(scope="module", params=KINDS)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(request.param, tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def as_coordinator(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("KUBECONFIG", str(running.coordinator()))
    return running


def segments(count: int) -> list[Segment]:
    return split(PLAN, [f"token-{number}" for number in range(count)])


def refusal(settings: PodSettings, count: int = 2) -> str:
    with pytest.raises(InputError) as raised, cluster(count, settings) as place:
        place.start(segments(count))[0].ready()
    return str(raised.value)


def until_gone(running: Cluster) -> None:
    deadline = time.monotonic() + 60
    while left := running.left():
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def kill_before_it_answers(running: Cluster) -> None:
    """Kill the first pod once it has its segment, which it has not read."""
    until(lambda: 0 in running.running())
    pod = running.running()[0]
    pod.freeze()
    until(lambda: pod.is_attached)
    pod.kill()


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_cluster_with_the_rights_of_the_role_is_accepted(as_coordinator: Cluster) -> None:
    with cluster(3, PodSettings()) as place:
        assert place.size == 3
    assert as_coordinator.left() == []


def test_settings_that_are_accepted_here_are_accepted_there(as_coordinator: Cluster) -> None:
    with cluster(1, PodSettings()) as place:
        for written in ACCEPTED:
            place.api.check(job_manifest("trial", parse_pod_settings(written, "pods.yaml"), 1, 1.0))
    assert as_coordinator.left() == []


def test_an_image_that_cannot_be_pulled_is_named(as_coordinator: Cluster) -> None:
    told = refusal(PodSettings(image="missing:1"))
    assert told.startswith("--on: expected 2 pods running within 120 s, got none: ImagePullBackOff: Back-off")
    assert "missing:1" in told
    until_gone(as_coordinator)


def test_pods_that_no_node_takes_end_the_wait_with_the_reason(as_coordinator: Cluster) -> None:
    told = refusal(PodSettings(node_selector={"pool": "none"}, start_within=1.0))
    assert told.startswith(
        "--on: expected 2 pods running within 1 s, got none: Unschedulable: 0/1 nodes are available"
    )
    until_gone(as_coordinator)


def test_pods_that_a_quota_forbids_end_the_wait_with_the_reason(as_coordinator: Cluster) -> None:
    lift = as_coordinator.limit_pods(0)
    try:
        told = refusal(PodSettings(start_within=1.0))
    finally:
        lift()
    assert told.startswith(
        "--on: expected 2 pods running within 1 s, got none: no pod was made for it: FailedCreate"
    )
    assert "exceeded quota" in told
    until_gone(as_coordinator)


def test_a_pod_that_is_not_made_is_a_lost_worker_and_the_others_run(as_coordinator: Cluster) -> None:
    lift = as_coordinator.limit_pods(1)
    try:
        with cluster(2, PodSettings(start_within=2.0)) as place:
            workers = place.start(segments(2))
            lost = []
            for worker in workers:
                try:
                    worker.ready()
                except WorkerLost as error:
                    lost.append((worker.name, str(error)))
                worker.close()
    finally:
        lift()
    ((name, why),) = lost
    assert name.endswith(" of 2 (pod missing)")
    assert why.startswith("no pod was made for it: FailedCreate: ")
    until_gone(as_coordinator)


def test_a_pod_that_says_nothing_is_given_up(as_coordinator: Cluster) -> None:
    with cluster(1, PodSettings()) as place:
        job = JobRun(place.api.again(), job_of(PLAN, PodSettings(), 1), place.jobs, 60.0)
        job.create()
        stream = job.attach(job.state(0).name)
        stream.expect_within(0.1)  # Nothing comes, since it waits for its segment.
        assert (stream.output.readline(), stream.ended) == ("", "it said nothing for 0.1 s")
        stream.close()
    until_gone(as_coordinator)


def test_missing_rights_are_all_named(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(running.stranger()))
    told = refusal(PodSettings())
    missing = [f"{verb} {resource}" for (_, resource), verbs in RIGHTS.items() for verb in verbs]
    assert f"got none to {', '.join(missing)} (deploy/kubernetes has a Role" in told


def test_the_role_does_not_reach_into_another_namespace(as_coordinator: Cluster) -> None:
    assert 'expected rights in the namespace "default"' in refusal(PodSettings(namespace="default"))


def test_a_namespace_that_is_not_there_is_named(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(running.admin_config()))
    told = refusal(PodSettings(namespace="nowhere"))
    assert told == f'--on: expected the namespace "nowhere" at {running.url}, got none'


def test_credentials_that_are_not_known_are_refused(
    running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig("unknown", "other")))
    assert refusal(PodSettings()) == f"--on: expected credentials that {running.url} knows, got others"


def test_a_context_that_is_not_there_is_named(as_coordinator: Cluster) -> None:
    told = refusal(PodSettings(context="staging"))
    assert told.startswith("--on: expected a kubeconfig with a cluster in ")
    assert "staging" in told


def test_without_a_kubeconfig_both_ways_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert refusal(PodSettings()).startswith(
        f"--on: expected a kubeconfig ({tmp_path / 'none'}) or the service account of a pod, got neither: "
    )


def test_a_context_without_a_kubeconfig_is_refused_also_in_a_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    told = refusal(PodSettings(context="staging"))
    assert told == f'--on: expected a kubeconfig ({tmp_path / "none"}) with the context "staging", got none'


def test_a_kubeconfig_that_is_no_yaml_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("a: [")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert refusal(PodSettings()).startswith("--on: expected a kubeconfig")


def test_a_server_that_is_not_there_is_named(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    path = running.coordinator()
    path.write_text(path.read_text().replace(running.url, "https://127.0.0.1:9"))
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert refusal(PodSettings()).startswith(
        "--on: expected a Kubernetes API server at https://127.0.0.1:9, got none: "
    )


def test_a_worker_of_another_version_refuses_its_segment(as_coordinator: Cluster) -> None:
    (segment,) = segments(1)
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start([replace(segment, version="0.0.1/0")])
        with pytest.raises(
            InputError, match=r"worker 1 of 1 \(pod faultkit-.* on stand-in\)\.version: expected"
        ):
            worker.ready()
        worker.close()
    until_gone(as_coordinator)


def test_the_clock_of_a_pod_is_read_over_its_streams(as_coordinator: Cluster) -> None:
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start(segments(1))
        worker.ready()
        offset = offset_of(worker)
        # The pods of these clusters are processes of this machine, so the true offset is 0.
        assert abs(offset.offset_s) <= offset.uncertain_s
        worker.close()
    until_gone(as_coordinator)


def test_a_pod_that_has_answered_may_be_silent_while_others_get_ready(
    as_coordinator: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.load.kubernetes_place._ANSWER_S", 0.5)
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start(segments(1))
        worker.ready()
        worker.clock()
        time.sleep(1.5)  # Three times as long as an answer may take.
        worker.clock()
        worker.close()
    until_gone(as_coordinator)


def test_a_pod_that_ends_before_it_is_ready_is_lost_with_its_exit_code(as_coordinator: Cluster) -> None:
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start(segments(1))
        killer = threading.Thread(target=kill_before_it_answers, args=(as_coordinator,))
        killer.start()
        with pytest.raises(WorkerLost, match=r"^Error, exit code 137$"):
            worker.ready()
        killer.join()
        worker.close()
    until_gone(as_coordinator)


def test_what_is_left_at_the_end_of_a_run_is_deleted(as_coordinator: Cluster) -> None:
    with cluster(2, PodSettings()) as place:
        assert isinstance(place, ClusterPlace)
        place.start(segments(2))  # Not closed, as after an error.
    until_gone(as_coordinator)


def test_a_run_that_is_stopped_while_images_are_pulled_ends_and_deletes_its_job(
    as_coordinator: Cluster,
) -> None:
    stop = threading.Event()

    def stop_once_it_waits() -> None:
        until(as_coordinator.left)
        stop.set()

    with cluster(2, PodSettings(image="large:1", start_within=3600.0)) as place:
        stopper = threading.Thread(target=stop_once_it_waits)
        stopper.start()
        result = run_load(PLAN.target, PLAN.load, on=place, stop=stop)
        stopper.join()
    assert (result.cut_short, result.tally.requests, result.lost) == (True, 0, ())
    until_gone(as_coordinator)


# --- an API server that fails -----------------------------------------------------------------


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInCluster]:
    """Only the stand-in fails when it is told to."""
    monkeypatch.setattr("faultkit.load.kubernetes_place._POLL_S", 0.05)
    with StandInCluster(tmp_path) as started:
        monkeypatch.setenv("KUBECONFIG", str(started.coordinator()))
        yield started


@pytest.mark.parametrize("status", [503, 429, 0])
def test_an_api_server_that_fails_for_a_moment_is_asked_again(failing: StandInCluster, status: int) -> None:
    with cluster(1, PodSettings()) as place:
        failing.troubles = [status]
        (worker,) = place.start(segments(1))
        failing.troubles = [status] * 3
        assert worker.ready() == Machine.here()
        assert failing.troubles == []
        failing.troubles = [status] * 2
        worker.close()
    assert failing.left() == []


@pytest.mark.parametrize("status", [503, 0])
def test_a_pod_is_attached_to_again_if_the_server_fails(failing: StandInCluster, status: int) -> None:
    with cluster(1, PodSettings()) as place:
        job = JobRun(place.api.again(), job_of(PLAN, PodSettings(), 1), place.jobs, 60.0)
        job.create()
        pod = job.state(0).name
        failing.troubles = [status] * 2
        job.attach(pod).close()
        assert failing.troubles == []
    assert failing.left() == []


def test_a_job_that_was_made_though_the_server_failed_is_not_made_twice(failing: StandInCluster) -> None:
    failing.fails_after_creation = True
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start(segments(1))
        assert worker.ready() == Machine.here()
        assert len(failing.running()) == 1
        worker.close()
    assert failing.left() == []


def test_an_api_server_that_goes_on_failing_ends_the_run_and_the_job_is_deleted(
    failing: StandInCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.load.kubernetes_place._PATIENCE_S", 0.2)
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start(segments(1))
        failing.troubles = [503] * 1000
        with pytest.raises(Unavailable, match=rf"^the API server {failing.url} is not available: 503: etcd"):
            worker.ready()
        failing.troubles = []
        worker.close()
    assert failing.left() == []


def test_a_job_that_cannot_be_deleted_is_left_to_its_ttl_and_in_the_log(
    failing: StandInCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("faultkit.load.kubernetes_place._PATIENCE_S", 0.2)
    with cluster(1, PodSettings()) as place:
        place.start(segments(1))
        failing.troubles = [500] * 1000
    assert " was not deleted, its TTL will do it: the API server " in caplog.text
    assert len(failing.left()) == 2


def test_a_pod_that_cannot_be_attached_to_in_time_is_a_lost_worker(
    failing: StandInCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.load.kubernetes_place._ATTACH_S", 0.2)
    failing.attachments.clear()
    with cluster(1, PodSettings()) as place:
        (worker,) = place.start(segments(1))
        with pytest.raises(WorkerLost, match=r"^it cannot be attached to: no answer within 0\.2 s$"):
            worker.ready()
        pod = failing.running()[0]
        failing.attachments.set()
        until(
            lambda: pod.poll() is not None
        )  # The connection that came late was closed, and its input with it.
        worker.close()
    assert failing.left() == []


def test_an_older_kubernetes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster_of("stand-in", tmp_path) as old:
        old.version = {"major": "1", "minor": "28+", "gitVersion": "v1.28.3"}  # type: ignore[union-attr]
        monkeypatch.setenv("KUBECONFIG", str(old.coordinator()))
        assert refusal(PodSettings()) == (
            f"--on: expected Kubernetes 1.29 or newer at {old.url}, got v1.28.3"
        )


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.base.installation._is_there", lambda module: module != "kubernetes")
    assert refusal(PodSettings()).startswith('--on kubernetes needs the extra "kubernetes" (send a load from')
