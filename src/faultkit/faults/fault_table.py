"""A table of faults whose files are imported when their faults are looked up.

There are many faults, and a run uses few of them: a proxy needs none of those that act on calls, and a mock
without faults needs none at all. The names and their order are known without an import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar

from faultkit.faults.fault import Fault

AnyFault = TypeVar("AnyFault", bound=Fault)


class FaultTable(Mapping[str, type[AnyFault]]):
    """The classes of faults by kind, in the order of the rows.

    A row is a module below `faultkit.faults`, such as `stream.packet_loss`. The kind is the name of the file,
    and the class has the same name in capitals: `PacketLoss`."""

    def __init__(self, *rows: str) -> None:
        self.rows = rows
        self._modules = {row.rpartition(".")[2]: row for row in rows}
        self._found: dict[str, type[AnyFault]] = {}

    def __getitem__(self, kind: str) -> type[AnyFault]:
        if kind not in self._found:
            module = import_module(f"faultkit.faults.{self._modules[kind]}")
            self._found[kind] = getattr(module, kind.title().replace("_", ""))
        return self._found[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
