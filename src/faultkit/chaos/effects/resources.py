"""resource_exhaustion as a value: which resource, and how much of it. `effects.exhaustion` takes it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.chaos.effects.lasting import Lasting, Lease
from faultkit.chaos.effects.settings import choice, known_only, number, text
from faultkit.chaos.limits import Limits

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Resource:
    unit: str
    usual: float
    least: float
    most: float
    limit: str
    """The field of Limits that caps it."""
    per_unit: int = 1
    """How much of that field one unit is."""
    whole: bool = True


RESOURCES: dict[str, Resource] = {
    "memory": Resource("MiB", 256, 1, 65_536, "most_memory_bytes", per_unit=MIB),
    "descriptors": Resource("descriptors", 1024, 1, 524_288, "most_descriptors"),
    "threads": Resource("threads", 100, 1, 32_768, "most_threads"),
    "cpu": Resource("cores", 1, 0.05, 1024, "most_cpus", whole=False),
    "disk": Resource("MiB", 256, 1, 524_288, "most_disk_bytes", per_unit=MIB),
}
"""By the name that `metadata.resource` has for it."""


@dataclass(frozen=True, slots=True)
class Exhaustion:
    resource: str
    amount: float
    """In the unit of the resource."""
    folder: str = ""
    """Of the disk that is filled."""

    @property
    def says(self) -> str:
        unit = RESOURCES[self.resource].unit
        of = f"{unit} of {self.resource}" if unit in ("MiB", "cores") else unit
        return f"{self.amount:g} {of}" + (f" in {self.folder}" if self.folder else "")

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        row = RESOURCES[self.resource]
        most = getattr(limits, row.limit) / row.per_unit
        if self.amount > most:
            raise InputError(
                "metadata.amount",
                f"expected at most {most:g} {row.unit}, got {self.amount:g}; only the limits can raise it",
            )

    def begin(self, name: str, lasts_s: float, lease: Lease | None) -> Lasting:
        from faultkit.chaos.effects.exhaustion import exhaust

        return exhaust(self, lasts_s, lease)


def read_exhaustion(targets: tuple[str, ...], metadata: Mapping[str, object]) -> Exhaustion:
    """`resource`, `amount` in its unit, and for the disk `folder`."""
    known_only(metadata, ("resource", "amount", "folder"))
    if targets:
        raise InputError("targets", "expected none: resource_exhaustion is of this machine")
    resource = choice(metadata, "resource", "memory", tuple(RESOURCES))
    row = RESOURCES[resource]
    given = metadata.get("amount", row.usual)
    amount = number(given, "metadata.amount", row.least, row.most, whole=row.whole)
    return Exhaustion(resource, amount, _folder(resource, metadata))


def _folder(resource: str, metadata: Mapping[str, object]) -> str:
    given = text(metadata, "folder", "a folder on the disk to fill")
    if resource != "disk":
        if given is not None:
            raise InputError("metadata.folder", f"expected only with disk, got it with {resource}")
        return ""
    folder = given or tempfile.gettempdir()
    if not os.path.isdir(folder):
        raise InputError("metadata.folder", f'expected a folder, got "{folder}"')
    return folder
