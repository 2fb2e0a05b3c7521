"""The settings of the pods are read by a table of keys, and mistakes name their line."""

from __future__ import annotations

import kubernetes_validate
import pytest

from faultkit.base.errors import InputError
from faultkit.load.kubernetes.manifests import job_manifest
from faultkit.load.kubernetes.pod_settings import POD_KEYS, PodSettings, parse_pod_settings


def test_an_empty_file_gives_the_defaults() -> None:
    assert parse_pod_settings("", "pods.yaml") == PodSettings()


def test_defaults_of_the_table_are_those_of_the_value() -> None:
    assert PodSettings(**{key.name: key.default for key in POD_KEYS}) == PodSettings()


def test_all_keys_are_read() -> None:
    written = """
    context: staging
    namespace: load
    image: registry.example/faultkit:1
    image_pull_secrets: [registry]
    service_account: worker
    cpu: 2
    memory: 1Gi
    labels: {team: load}
    annotations: {sidecar.istio.io/inject: "false"}
    node_selector: {pool: load}
    tolerations: [{key: load, operator: Exists}]
    start_within: 3m
    delete_after: 1h
    """
    assert parse_pod_settings(written, "pods.yaml") == PodSettings(
        context="staging",
        namespace="load",
        image="registry.example/faultkit:1",
        image_pull_secrets=("registry",),
        service_account="worker",
        cpu="2",
        memory="1Gi",
        labels={"team": "load"},
        annotations={"sidecar.istio.io/inject": "false"},
        node_selector={"pool": "load"},
        tolerations=({"key": "load", "operator": "Exists"},),
        start_within=180.0,
        delete_after=3600.0,
    )


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("\nnamspace: a", 'pods.yaml: line 2: namspace: unknown key; did you mean "namespace"?'),
        ("namespace: Load", 'pods.yaml: line 1: namespace: expected a name such as "load-tests" (lower case'),
        ("cpu: 0", "pods.yaml: line 1: cpu: expected a number of CPUs above 0 such as 2"),
        ("cpu: 0.5m", 'pods.yaml: line 1: cpu: expected a number of CPUs above 0 such as 2, 0.5 or "500m"'),
        ("cpu: 1Gi", "pods.yaml: line 1: cpu: expected a number of CPUs above 0"),
        ("memory: lots", 'pods.yaml: line 1: memory: expected an amount of memory of at least "32Mi"'),
        ("memory: 512", "pods.yaml: line 1: memory: expected an amount of memory"),
        ("memory: 400m", "pods.yaml: line 1: memory: expected an amount of memory"),
        ("image_pull_secrets: [a..b]", "pods.yaml: line 1: image_pull_secrets[0]: expected a name such as"),
        ("labels: {a b: c}", 'pods.yaml: line 1: labels["a b"]: expected a key such as "team"'),
        ("labels: {Org.example/a: c}", 'pods.yaml: line 1: labels["Org.example/a"]: expected a key such as'),
        ("labels:\n  team: a b", "pods.yaml: line 2: labels.team: expected up to 63 letters, digits"),
        (
            "labels: {app.kubernetes.io/name: mine}",
            'pods.yaml: line 1: labels["app.kubernetes.io/name"]: expected a label of your own',
        ),
        ("node_selector: {pool: -a}", "pods.yaml: line 1: node_selector.pool: expected up to 63 letters"),
        ("annotations: {/a: b}", 'pods.yaml: line 1: annotations["/a"]: expected a key such as "team"'),
        (f"annotations: {{a: {'b' * 2**18}}}", "pods.yaml: line 1: annotations: expected at most 262144"),
        ("start_within: 60", "pods.yaml: line 1: start_within: expected a duration with its unit"),
        ("delete_after: 2d", 'pods.yaml: line 1: delete_after: expected a duration from "1s" to "24h"'),
        (
            "annotations:\n  inject: false",
            "pods.yaml: line 2: annotations.inject: expected a text, got false",
        ),
        ("tolerations: [all]", 'pods.yaml: line 1: tolerations[0]: expected a mapping, got "all"'),
        (
            "tolerations: [{kee: a}]",
            'pods.yaml: line 1: tolerations[0].kee: unknown key; did you mean "key"?',
        ),
        ("tolerations: [{operator: Equal}]", "pods.yaml: line 1: tolerations[0].key: expected one unless"),
        ("tolerations: [{key: a b}]", "pods.yaml: line 1: tolerations[0].key: expected a key such as"),
        (
            "tolerations: [{key: a, operator: Is}]",
            "pods.yaml: line 1: tolerations[0].operator: expected one of Exists, Equal",
        ),
        (
            "tolerations: [{key: a, value: 1}]",
            "pods.yaml: line 1: tolerations[0].value: expected a text, got 1",
        ),
        (
            "tolerations: [{key: a, operator: Exists, value: b}]",
            "pods.yaml: line 1: tolerations[0].value: expected none beside the operator",
        ),
        (
            "tolerations: [{key: a, effect: Never}]",
            "pods.yaml: line 1: tolerations[0].effect: expected one of",
        ),
        (
            "tolerations: [{key: a, tolerationSeconds: 5}]",
            "pods.yaml: line 1: tolerations[0].tolerationSeconds: expected it beside the effect",
        ),
        ("- a", "pods.yaml: line 1: expected a mapping, got a list"),
    ],
)
def test_a_mistake_names_its_line_and_key(written: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_pod_settings(written, "pods.yaml")
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    "written",
    [
        'labels: {example.org/A_b.c: "", short: "%s"}' % ("x" * 63),
        "annotations: {Sidecar.Example/a: any text at all}",
        'cpu: 0.001\nmemory: "33554432"',
        "cpu: 250m\nmemory: 0.5Gi",
        "tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 0}]",
    ],
)
def test_what_kubernetes_takes_is_taken(written: str) -> None:
    manifest = job_manifest("a", parse_pod_settings(written, "pods.yaml"), 1, 1.0)
    kubernetes_validate.validate(manifest, "1.36", strict=True)
