"""The settings of the pods are read by a table of keys, and mistakes name their line."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
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
        ("cpu: 0", "pods.yaml: line 1: cpu: expected a quantity above 0"),
        ("memory: lots", "pods.yaml: line 1: memory: expected a quantity above 0"),
        ("start_within: 60", "pods.yaml: line 1: start_within: expected a duration with its unit"),
        ("delete_after: 2d", 'pods.yaml: line 1: delete_after: expected a duration from "1s" to "24h"'),
        (
            "annotations:\n  inject: false",
            "pods.yaml: line 2: annotations.inject: expected a text, got false",
        ),
        ("tolerations: [all]", 'pods.yaml: line 1: tolerations[0]: expected a mapping, got "all"'),
        ("- a", "pods.yaml: line 1: expected a mapping, got a list"),
    ],
)
def test_a_mistake_names_its_line_and_key(written: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_pod_settings(written, "pods.yaml")
    assert str(raised.value).startswith(problem)
