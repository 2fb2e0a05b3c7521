"""The kinds of work that places do: for each, how a worker runs its part and what it sends.

    load     requests at the times of a schedule (`faultkit.load`)
    suite    tests of agents (`faultkit.agents.shards`)

A part names its kind, so that one worker program serves all of them. Each is imported when it is needed: the
packages of some stand above this one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from faultkit.base.errors import InputError
from faultkit.load.part_lines import PartReader, PartWriter
from faultkit.load.split import P, Part, part_from_json

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)

KINDS: Mapping[str, str] = {
    "load": "faultkit.load.local_workers:LOAD",
    "suite": "faultkit.agents.shards.case_lines:SUITE",
}
"""The module and the name of each `Work`."""


class Folding(Protocol[M_co]):
    """Adds up what the process of a worker reports."""

    def add(self, *report: Any) -> None:
        """Add a report."""

    def take(self) -> M_co:
        """Return what was added since the last call."""


@dataclass(frozen=True, slots=True)
class Work(Generic[P, M]):
    """How a worker runs a part of one kind of plan, and what it sends."""

    worker: str
    """What a worker of this machine is called."""
    runner: str
    """What runs a part in a process of its own, as "module:class" (`base.child_process`): it is made with the
    part, `run(begin_at)` returns its SegmentEnd, and it sends reports meanwhile, several a second."""
    plan_of: Callable[[Mapping[str, Any]], P]
    folder: Callable[[P], Folding[M]]
    writer: Callable[[Part[P]], PartWriter[M]]
    reader: Callable[[Part[P]], PartReader[M]]


def work_of(kind: str) -> Work[Any, Any]:
    """Return a kind of work. Raises InputError for one that is unknown."""
    if kind not in KINDS:
        raise InputError("kind", f'expected one of {", ".join(KINDS)}, got "{kind}"')
    module, _, name = KINDS[kind].partition(":")
    found: Work[Any, Any] = getattr(importlib.import_module(module), name)
    return found


def read_part(line: str) -> Part[Any]:
    """Return the part of a line of JSON, of whatever kind. Raises InputError for one that is damaged or of
    another version."""
    return part_from_json(line, lambda kind: work_of(kind).plan_of)
