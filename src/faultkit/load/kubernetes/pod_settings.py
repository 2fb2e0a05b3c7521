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
from faultkit.base.documents.values import DURATION_SCHEMA, TEXT_SCHEMA, duration_s, text
from faultkit.base.documents.yaml_text import placed, read_document, to_json_data
from faultkit.base.errors import InputError

NAMESPACE = "faultkit"
IMAGE = f"faultkit-worker:{__version__}"
SERVICE_ACCOUNT = "faultkit-worker"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LONG_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", re.ASCII)
_QUANTITY = re.compile(r"[0-9]{1,9}(\.[0-9]{1,3})?(m|k|M|G|Ki|Mi|Gi)?", re.ASCII)
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


def _quantity(value: object) -> str:
    given = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    read = _fitting(given, _QUANTITY, 'a quantity above 0 such as 2, "500m" or "1Gi"')
    if not float(read.rstrip("mkMGKi")):
        raise InputError("", f'expected a quantity above 0 such as 2, "500m" or "1Gi", got {shown(value)}')
    return read


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
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping, got {shown(value)}")
    return dict(to_json_data(value))


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
    Key("cpu", _quantity, _QUANTITIES, "1", "CPU of a pod, both requested and its limit; by default `1`."),
    Key("memory", _quantity, _QUANTITIES, "512Mi", "Memory of a pod, likewise; by default `512Mi`."),
    Key("labels", _texts, _TEXTS, {}, "Further labels of the pods."),
    Key("annotations", _texts, _TEXTS, {}, "Annotations of the pods."),
    Key("node_selector", _texts, _TEXTS, {}, "Labels that a node must have."),
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
