"""How the pods of `--on kubernetes` are made: a text of a few keys, each with a default. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from faultkit import __version__
from faultkit.base.documents.checks import join_path, sequence, shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    DURATION_SCHEMA,
    TEXT_SCHEMA,
    choice,
    duration_s,
    text,
    whole_number,
)
from faultkit.base.documents.yaml_text import placed, read_document
from faultkit.base.errors import InputError

NAMESPACE = "faultkit"
IMAGE = f"faultkit-worker:{__version__}"
SERVICE_ACCOUNT = "faultkit-worker"
COMPONENT_LABEL = "app.kubernetes.io/component"
OWN_LABELS = {"app.kubernetes.io/name": "faultkit", COMPONENT_LABEL: "load-worker"}
"""Those of a load; suites have another component."""
JOB_LABEL = "batch.kubernetes.io/job-name"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
"""Set by the Job controller: as a label since Kubernetes 1.28, as an annotation always."""
_TAKEN = {
    *OWN_LABELS,
    JOB_LABEL,
    INDEX_LABEL,
    "batch.kubernetes.io/controller-uid",
    "job-name",
    "controller-uid",
}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LONG_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_LABEL = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", re.ASCII)
"""The name of a label, and its value if that is not empty."""
_CPU = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?|[0-9]{1,9}m", re.ASCII)
_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)(k|M|G|T|Ki|Mi|Gi|Ti)?", re.ASCII)
_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_LEAST_BYTES = 32 * 2**20
"""With less, a worker does not start."""
_MOST_ANNOTATED = 256 * 2**10
"""Characters of all annotations of an object together."""
_LONGEST_S = 86_400.0


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What a user chooses for the pods of a load."""

    context: str | None = None
    """The context of the kubeconfig; None: the current one."""
    namespace: str = NAMESPACE
    image: str = IMAGE
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str = SERVICE_ACCOUNT
    cpu: str = "1"
    memory: str = "512Mi"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    start_within: float = 120.0
    """Seconds in which all pods must run."""
    delete_after: float = 300.0
    """Seconds after which the cluster deletes a Job that has ended, if the coordinator did not."""


def _name(value: object) -> str:
    return _fitting(value, _NAME, 'a name such as "load-tests" (lower case, digits and "-")')


def _long_name(value: object) -> str:
    return _fitting(value, _LONG_NAME, 'a name such as "load-tests" (lower case, digits, "-" and ".")')


def _cpu(value: object) -> str:
    expected = 'a number of CPUs above 0 such as 2, 0.5 or "500m", in steps of 0.001'
    read = _fitting(_written(value), _CPU, expected)
    if not float(read.removesuffix("m")):
        raise InputError("", f"expected {expected}, got {shown(value)}")
    return read


def _memory(value: object) -> str:
    expected = 'an amount of memory of at least "32Mi", such as "512Mi" or "1Gi"'
    read = _fitting(_written(value), _MEMORY, expected)
    number, unit = _MEMORY.fullmatch(read).groups()  # type: ignore[union-attr]
    if float(number) * _BYTES[unit or ""] < _LEAST_BYTES:
        raise InputError("", f"expected {expected}, got {shown(value)}")
    return read


def _written(value: object) -> object:
    """Return a number as the text that a manifest has."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _fitting(value: object, pattern: re.Pattern[str], expected: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InputError("", f"expected {expected}, got {shown(value)}")
    return value


def _seconds(value: object) -> float:
    seconds = duration_s(value)
    if not 1.0 <= seconds <= _LONGEST_S:
        raise InputError("", f'expected a duration from "1s" to "24h", got {shown(value)}')
    return seconds


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of texts, got {shown(value)}")
    for key, each in value.items():
        if not isinstance(key, str) or not isinstance(each, str):
            raise InputError(join_path("", key), f"expected a text, got {shown(each)}")
    return dict(value)


def _labels(value: object) -> dict[str, str]:
    labels = _texts(value)
    for key, each in labels.items():
        _check_key(key)
        _label_value(each, join_path("", key))
    return labels


def _own_labels(value: object) -> dict[str, str]:
    labels = _labels(value)
    for key in labels:
        if key in _TAKEN:
            raise InputError(join_path("", key), "expected a label of your own, got one that is set already")
    return labels


def _annotations(value: object) -> dict[str, str]:
    annotations = _texts(value)
    for key in annotations:
        _check_key(key, key.lower())  # Their domains may have capital letters.
    size = sum(len(f"{key}{each}".encode("utf-8", "replace")) for key, each in annotations.items())
    if size > _MOST_ANNOTATED:
        raise InputError("", f"expected at most {_MOST_ANNOTATED} bytes in all, got {size}")
    return annotations


def _check_key(key: str, compared: str | None = None) -> None:
    """Refuse the key of a label or an annotation: a name, with or without a domain before it."""
    domain, separator, name = (key if compared is None else compared).rpartition("/")
    if not _LABEL.fullmatch(name) or (separator and not _LONG_NAME.fullmatch(domain)):
        expected = (
            'a key such as "team" or "example.org/team" (a name of up to 63 letters, digits, "-", "_", ".")'
        )
        raise InputError(join_path("", key), f"expected {expected}, got {shown(key)}")


def _label_value(value: str, path: str = "") -> str:
    if value and not _LABEL.fullmatch(value):
        expected = 'up to 63 letters, digits, "-", "_" and ".", the first and the last a letter or digit'
        raise InputError(path, f"expected {expected}, got {shown(value)}")
    return value


def _each(read: Callable[[object], Any], what: str) -> Callable[[object], tuple[Any, ...]]:
    def read_all(value: object) -> tuple[Any, ...]:
        found = []
        for index, each in enumerate(sequence(value, what, "")):
            try:
                found.append(read(each))
            except InputError as error:
                raise error.within(f"[{index}]") from None
        return tuple(found)

    return read_all


def _toleration(value: object) -> dict[str, Any]:
    reader = MappingReader(value, TOLERATION_KEYS)
    read = reader.values()
    exists = read.get("operator") == "Exists"
    if not exists and not read.get("key"):
        raise InputError("key", 'expected one unless the operator is "Exists", got none')
    if exists and read.get("value"):
        raise InputError("value", f'expected none beside the operator "Exists", got {shown(read["value"])}')
    if "tolerationSeconds" in read and read.get("effect") != "NoExecute":
        raise InputError("tolerationSeconds", 'expected it beside the effect "NoExecute" only')
    return read


def _toleration_key(value: object) -> str:
    key = text(value)
    try:
        _check_key(key)
    except InputError as error:
        raise error.at("") from None
    return key


def _toleration_value(value: object) -> str:
    if not isinstance(value, str):
        raise InputError("", f"expected a text, got {shown(value)}")
    return _label_value(value)


_OPERATORS = ("Exists", "Equal")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_SECONDS = 2**53

TOLERATION_KEYS = KeyTable(
    Key("key", _toleration_key, TEXT_SCHEMA, None, "Key of the taint."),
    Key("operator", choice(_OPERATORS), {"enum": list(_OPERATORS)}, None, "How it is compared."),
    Key("value", _toleration_value, {"type": "string"}, None, "Value of the taint."),
    Key("effect", choice(_EFFECTS), {"enum": list(_EFFECTS)}, None, "Effect of the taint; by default all."),
    Key(
        "tolerationSeconds",
        whole_number(0, _MOST_SECONDS),
        {"type": "integer", "minimum": 0},
        None,
        "How long the taint is tolerated.",
    ),
)
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_QUANTITIES = {"type": ["string", "number"]}
_DEFAULTS = PodSettings()

POD_KEYS = KeyTable(
    Key("context", text, TEXT_SCHEMA, None, "Context of the kubeconfig; by default the current one."),
    Key("namespace", _name, TEXT_SCHEMA, NAMESPACE, f"Where the Jobs are made; by default `{NAMESPACE}`."),
    Key(
        "image",
        text,
        TEXT_SCHEMA,
        IMAGE,
        "Image of the workers, of the same version of Faultkit; by default `faultkit-worker:VERSION`.",
    ),
    Key(
        "image_pull_secrets",
        _each(_long_name, "names of Secrets"),
        {"type": "array", "items": {"type": "string"}},
        (),
        "Secrets with the credentials of the image's registry.",
    ),
    Key(
        "service_account",
        _long_name,
        TEXT_SCHEMA,
        SERVICE_ACCOUNT,
        f"ServiceAccount of the pods, which needs no rights; by default `{SERVICE_ACCOUNT}`.",
    ),
    Key("cpu", _cpu, _QUANTITIES, "1", "CPU of a pod, both requested and its limit; by default `1`."),
    Key(
        "memory",
        _memory,
        _QUANTITIES,
        "512Mi",
        "Memory of a pod, likewise, at least `32Mi`; by default `512Mi`.",
    ),
    Key("labels", _own_labels, _TEXTS, {}, "Further labels of the pods."),
    Key("annotations", _annotations, _TEXTS, {}, "Annotations of the pods."),
    Key("node_selector", _labels, _TEXTS, {}, "Labels that a node must have."),
    Key(
        "tolerations",
        _each(_toleration, "tolerations"),
        {"type": "array", "items": {"type": "object"}},
        (),
        "Taints that the pods tolerate, as Kubernetes writes them.",
    ),
    Key(
        "start_within",
        _seconds,
        DURATION_SCHEMA,
        _DEFAULTS.start_within,
        "Time in which all pods must run, images pulled; by default `2m`.",
    ),
    Key(
        "delete_after",
        _seconds,
        DURATION_SCHEMA,
        _DEFAULTS.delete_after,
        "Time after which the cluster deletes a Job that has ended, if the coordinator did not; by "
        "default `5m`.",
    ),
)


def parse_pod_settings(written: str, source: str) -> PodSettings:
    """Return the settings of a YAML or JSON text. Raises InputError with the line of the first mistake."""
    document = read_document(written, source, "settings of pods")
    try:
        return PodSettings(**MappingReader({} if document is None else document, POD_KEYS).values())
    except InputError as error:
        raise placed(error, written, source) from None
