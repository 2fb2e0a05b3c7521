"""What the API says about a pod becomes: it runs, it may still run, or it does not, and why."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.load.kubernetes.pod_states import (
    PodState,
    by_index,
    state_of,
    why_job_failed,
    why_none_was_made,
)


def pod(status: dict[str, Any], *, name: str = "p", index: int = 0, made: str = "1", **more: Any) -> Any:
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": made,
            "labels": {"batch.kubernetes.io/job-completion-index": str(index)},
            **more,
        },
        "spec": {"nodeName": "n"},
        "status": status,
    }


def container(state: dict[str, Any], phase: str = "Pending") -> dict[str, Any]:
    return {"phase": phase, "containerStatuses": [{"name": "worker", "state": state}]}


def test_a_running_container_runs() -> None:
    assert state_of(pod(container({"running": {}}, "Running"))) == PodState("p", 0, "n", runs=True)


@pytest.mark.parametrize(
    ("status", "over"),
    [
        (
            container({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}),
            "ImagePullBackOff: Back-off pulling image",
        ),
        (container({"waiting": {"reason": "InvalidImageName"}}), "InvalidImageName"),
        (
            container({"terminated": {"reason": "OOMKilled", "exitCode": 137}}, "Failed"),
            "OOMKilled, exit code 137",
        ),
        (
            container(
                {"terminated": {"reason": "Error", "exitCode": 1, "message": "x\nNo module named a\n"}},
                "Failed",
            ),
            "Error, exit code 1: No module named a",
        ),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low"},
            "Evicted: The node was low",
        ),
        ({"phase": "Failed"}, "it ended (Failed)"),
    ],
)
def test_a_pod_that_will_not_run_says_why(status: dict[str, Any], over: str) -> None:
    state = state_of(pod(status))
    assert (state.runs, state.over) == (False, over)


@pytest.mark.parametrize(
    ("status", "waits"),
    [
        ({}, ""),
        (container({"waiting": {"reason": "ErrImagePull"}}), "ErrImagePull"),
        (container({"waiting": {"reason": "ContainerCreating"}}), "ContainerCreating"),
        (
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available",
                    }
                ],
            },
            "Unschedulable: 0/3 nodes are available",
        ),
    ],
)
def test_a_pod_that_may_still_run_says_what_it_waits_for(status: dict[str, Any], waits: str) -> None:
    state = state_of(pod(status))
    assert (state.runs, state.over, state.waits) == (False, "", waits)


def test_a_pod_that_is_deleted_does_not_run_though_its_container_does() -> None:
    deleted = pod(container({"running": {}}, "Running"), deletionTimestamp="2026-01-01T00:00:00Z")
    assert state_of(deleted).over == "it was deleted"


def test_the_first_pod_of_an_index_counts_and_not_the_one_that_took_its_place() -> None:
    failed = pod(container({"terminated": {"reason": "Error", "exitCode": 1}}, "Failed"), name="a", made="1")
    second = pod(container({"running": {}}, "Running"), name="b", made="2")
    assert by_index([second, failed])[0].name == "a"


def test_an_index_is_read_from_the_annotation_where_there_is_no_label() -> None:
    old = pod({}, labels={}, annotations={"batch.kubernetes.io/job-completion-index": "3"})
    assert state_of(old).index == 3


def test_the_last_warning_says_why_no_pod_was_made() -> None:
    events = [
        {"type": "Warning", "reason": "FailedCreate", "message": "exceeded quota", "lastTimestamp": "2"},
        {"type": "Warning", "reason": "Old", "message": "x", "lastTimestamp": "1"},
        {"type": "Normal", "reason": "SuccessfulCreate", "lastTimestamp": "3"},
    ]
    assert why_none_was_made(events) == "FailedCreate: exceeded quota"
    assert why_none_was_made(events[2:]) == ""


def test_a_job_that_failed_says_why() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}
    assert why_job_failed({"status": {"conditions": [failed]}}) == "DeadlineExceeded: too long"
    assert why_job_failed({"status": {"conditions": [{**failed, "status": "False"}]}}) == ""
    assert why_job_failed({}) == ""
