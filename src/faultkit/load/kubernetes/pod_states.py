"""What the status of a pod means for the segment that it is to run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.base.text import shortened, untrusted_line
from faultkit.load.kubernetes.manifests import CONTAINER
from faultkit.load.kubernetes.pod_settings import INDEX_LABEL

_HOPELESS = {
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
}
"""Reasons to wait that do not pass without a change. `ErrImagePull` may: the kubelet tries again, and says
`ImagePullBackOff` if that fails, too."""
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class PodState:
    """A pod of a Job at one moment."""

    name: str
    index: int
    node: str
    runs: bool = False
    over: str = ""
    """Why it does not run any more, or never will; empty if it may."""
    waits: str = ""
    """What it waits for, as far as the cluster tells."""


def state_of(pod: Mapping[str, Any]) -> PodState:
    """Return the state of a pod, given as the API has it."""
    metadata, status = pod["metadata"], pod.get("status", {})
    name, node = metadata["name"], pod.get("spec", {}).get("nodeName", "")
    labels = {**metadata.get("annotations", {}), **metadata.get("labels", {})}
    index = int(labels.get(INDEX_LABEL, -1))
    state = _container_state(status)
    if "terminated" in state or status.get("phase") in ("Failed", "Succeeded"):
        return PodState(name, index, node, over=_how_it_ended(status, state.get("terminated", {})))
    if metadata.get("deletionTimestamp"):
        return PodState(name, index, node, over="it was deleted")
    if "running" in state:
        return PodState(name, index, node, runs=True)
    waiting = state.get("waiting", {})
    text = _joined(waiting.get("reason"), waiting.get("message"))
    if waiting.get("reason") in _HOPELESS:
        return PodState(name, index, node, over=text)
    return PodState(name, index, node, waits=_why_not_scheduled(status) or text)


def by_index(pods: Iterable[Mapping[str, Any]]) -> dict[int, PodState]:
    """Return the state of the first pod of each index; a later one took its place, and gets no segment."""
    found: dict[int, PodState] = {}
    for pod in sorted(pods, key=lambda each: str(each["metadata"].get("creationTimestamp", ""))):
        state = state_of(pod)
        found.setdefault(state.index, state)
    return found


def why_none_was_made(events: Iterable[Mapping[str, Any]]) -> str:
    """Return what the last warning among events of a Job says; empty if there is none."""
    warnings = [event for event in events if event.get("type") == "Warning"]
    if not warnings:
        return ""
    last = max(warnings, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))
    return _joined(last.get("reason"), last.get("message"))


def why_job_failed(job: Mapping[str, Any]) -> str:
    """Return why the whole Job ended early; empty if it did not."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition.get("status") == "True" and condition.get("type") in ("Failed", "FailureTarget"):
            return _joined(condition.get("reason"), condition.get("message"))
    return ""


def _container_state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    for each in status.get("containerStatuses", ()):
        if each.get("name") == CONTAINER:
            state: Mapping[str, Any] = each.get("state", {})
            return state
    return {}


def _how_it_ended(status: Mapping[str, Any], terminated: Mapping[str, Any]) -> str:
    if status.get("reason"):  # Of the pod as a whole: Evicted, NodeLost, DeadlineExceeded, ….
        return _joined(status["reason"], status.get("message"))
    if not terminated:
        return f"it ended ({status.get('phase', 'of unknown phase')})"
    reason, code = terminated.get("reason") or "Terminated", terminated.get("exitCode")
    message = (terminated.get("message") or "").strip().splitlines()
    return _joined(f"{reason}, exit code {code}", message[-1] if message else None)


def _why_not_scheduled(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _joined(condition.get("reason"), condition.get("message"))
    return ""


def _joined(reason: str | None, message: str | None) -> str:
    parts = [untrusted_line(part) for part in (reason, message) if part]
    return shortened(": ".join(parts), _LONGEST)
