"""What is made in a cluster for a load: one Indexed Job, and nothing else. Pure.

A pod of the Job is a worker. It gets its segment over its standard input and answers over its standard output
(`faultkit.load.segment_stream`), so nothing of the plan, with the secrets that it may hold, is written to the
cluster, a pod opens no port, and it needs no rights.

A segment cannot run twice: a pod is not restarted, an index is not tried again, and a pod that another took
the place of gets no segment. Everything ends by itself if the coordinator dies: the input of the pods ends
with it, the Job has a deadline, and its TTL deletes it; its pods are deleted with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from faultkit.load.kubernetes.pod_settings import COMPONENT_LABEL, JOB_LABEL, OWN_LABELS, PodSettings

Manifest = dict[str, Any]

CONTAINER = "worker"
COMMAND = ("python", "-m", "faultkit.load.segment_stream")
MOST_PODS = 256
OLDEST_VERSION = (1, 29)
"""Of Kubernetes: the first one with `backoffLimitPerIndex` unless it is switched on."""

RIGHTS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("batch", "jobs"): ("create", "get", "delete"),
    ("", "pods"): ("list",),
    ("", "pods/attach"): ("get", "create"),
    ("", "events"): ("list",),
}
"""API group, resource, and what the coordinator does with it. Attaching is `get` by WebSocket; from
Kubernetes 1.35 on, it needs `create`, too. Events say why a pod was not made."""

_USER = 65532
_GRACE_S = 5
_OVERTIME_S = 60.0
_ATTACH_S = 15.0
"""Seconds after the time to start in which a pod must have its segment."""


def job_manifest(name: str, settings: PodSettings, pods: int, run_s: float, kind: str = "load") -> Manifest:
    """Return the Job of a load, or of suites.

    run_s: seconds from the start to the latest end; kind: that of the plan"""
    own = {**OWN_LABELS, COMPONENT_LABEL: f"{kind}-worker"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": dict(own)},
        "spec": {
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "backoffLimitPerIndex": 0,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": ceil(settings.start_within + run_s + _OVERTIME_S),
            "ttlSecondsAfterFinished": ceil(settings.delete_after),
            "template": {
                "metadata": _without_empty(
                    {"labels": {**settings.labels, **own}, "annotations": dict(settings.annotations)}
                ),
                "spec": _pod(name, settings),
            },
        },
    }


def _pod(job: str, settings: PodSettings) -> Manifest:
    return _without_empty(
        {
            "restartPolicy": "Never",
            "serviceAccountName": settings.service_account,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": _GRACE_S,
            "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
            "nodeSelector": dict(settings.node_selector),
            "tolerations": [dict(each) for each in settings.tolerations],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {JOB_LABEL: job}},
                }
            ],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER,
                "runAsGroup": _USER,
                "fsGroup": _USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(settings)],
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}],
        }
    )


def _container(settings: PodSettings) -> Manifest:
    resources = {"cpu": settings.cpu, "memory": settings.memory}
    return {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        # A coordinator that dies before it attaches leaves the input open: the worker must end by itself.
        "command": [*COMMAND, str(ceil(settings.start_within + _ATTACH_S))],
        "stdin": True,
        "stdinOnce": True,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "resources": {"requests": dict(resources), "limits": dict(resources)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _without_empty(manifest: Manifest) -> Manifest:
    return {key: value for key, value in manifest.items() if value not in ({}, [])}
