"""What a run tells while it goes on: for a live view, for progress over a wire. Plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.load.progress import Progress
from faultkit.scenario.model import Item
from faultkit.scenario.report.model import Item as ItemReport

Phase: TypeAlias = Literal["baseline", "faults", "calls"]


@dataclass(frozen=True, slots=True)
class ItemBegan:
    number: int
    """From 1, over all scenarios of the run."""
    of: int
    title: str
    item: Item
    seconds: float
    """How long it will take, as far as can be told; 0 if it cannot."""


@dataclass(frozen=True, slots=True)
class PhaseBegan:
    phase: Phase
    seconds: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """From time to time during a load."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a single or repeat strategy is done."""

    done: int
    of: int


@dataclass(frozen=True, slots=True)
class ItemEnded:
    report: ItemReport


Event: TypeAlias = ItemBegan | PhaseBegan | Loaded | Called | ItemEnded
Watch: TypeAlias = Callable[[Event], None]
