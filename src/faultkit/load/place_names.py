"""Names of places, as `--on` takes them, and how each is opened."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from faultkit.base.address import parse_endpoint
from faultkit.base.errors import InputError
from faultkit.load.kubernetes.manifests import MOST_PODS
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.load.local_workers import MOST_LOCAL, LocalPlace
from faultkit.load.places import Place

FORMS = "local:N, dask:N, dask://HOST:PORT, tls://HOST:PORT or kubernetes:N"

Kind: TypeAlias = Literal["local", "dask", "dask scheduler", "kubernetes"]
_COUNTED = re.compile(r"(local|dask|kubernetes)(?::([0-9]{1,18}))?", re.ASCII)
_MOST: dict[str, int] = {"local": MOST_LOCAL, "dask": MOST_LOCAL, "kubernetes": MOST_PODS}
_SCHEMES = {"dask": "tcp", "tls": "tls"}
"""The scheme of an address here, and Dask's."""


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A place that is known by name and not open yet."""

    kind: Kind
    size: int = 1
    address: str = ""
    pods: PodSettings = PodSettings()  # noqa: RUF009
    """Of `kubernetes`: how its pods are made."""

    def __str__(self) -> str:
        """Return the place as `--on` takes it."""
        if self.kind == "dask scheduler":
            return self.address.replace("tcp://", "dask://", 1)
        return f"{self.kind}:{self.size}"

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine are started, by this program itself."""
        return self.kind == "local"


def parse_place(text: str, path: str = "--on") -> PlaceName:
    """Return the place of a text such as `dask://10.0.0.5:8786`. Raises InputError."""
    scheme, separator, rest = text.partition("://")
    if separator and scheme in _SCHEMES:
        endpoint = parse_endpoint(rest, path=path)
        return PlaceName("dask scheduler", address=f"{_SCHEMES[scheme]}://{endpoint}")
    found = _COUNTED.fullmatch(text)
    if found is None:
        raise InputError(path, f'expected {FORMS}, got "{text}"')
    kind = cast(Kind, found[1])
    size = int(found[2]) if found[2] else _usual_size(kind)
    if not 1 <= size <= _MOST[kind]:
        raise InputError(path, f'expected 1 to {_MOST[kind]} workers, got "{text}"')
    return PlaceName(kind, size)


def _usual_size(kind: Kind) -> int:
    return min(os.cpu_count() or 1, MOST_LOCAL) if kind == "dask" else 1


def open_place(name: PlaceName) -> AbstractContextManager[Place]:
    """Open a place for the time of a run. Raises InputError if it is not there."""
    return _OPENERS[name.kind](name)


@contextlib.contextmanager
def _local(name: PlaceName) -> Iterator[Place]:
    yield LocalPlace(name.size)


@contextlib.contextmanager
def _dask(name: PlaceName) -> Iterator[Place]:
    from faultkit.load.dask_place import local_cluster, remote_cluster

    with local_cluster(name.size) if name.kind == "dask" else remote_cluster(name.address) as place:
        yield place


@contextlib.contextmanager
def _kubernetes(name: PlaceName) -> Iterator[Place]:
    from faultkit.load.kubernetes_place import cluster

    with cluster(name.size, name.pods) as place:
        yield place


_OPENERS: dict[Kind, Callable[[PlaceName], AbstractContextManager[Place]]] = {
    "local": _local,
    "dask": _dask,
    "dask scheduler": _dask,
    "kubernetes": _kubernetes,
}
"""How a place of each kind is opened."""
