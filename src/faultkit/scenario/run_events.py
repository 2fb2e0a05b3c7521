"""Events of a run in progress, for a live view or for progress notifications. Plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.numbers import shortest
from faultkit.load.load import Progress
from faultkit.load.search.frontier import Grid, PairBlock
from faultkit.load.search.search_values import Block
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.scenario_model import ScenarioItem

Phase: TypeAlias = Literal["baseline", "faults", "calls", "search"]


@dataclass(frozen=True, slots=True)
class ItemBegan:
    """An item starts."""

    number: int
    """The number of the item, from 1, over all scenarios of the run."""
    of: int
    """The number of items in all."""
    title: str
    item: ScenarioItem
    seconds: float
    """The expected duration; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class PhaseBegan:
    """A phase of an item starts."""

    phase: Phase
    seconds: float
    """The expected duration; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Figures of a load in progress, sent at intervals."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class CallProgress:
    """The number of finished calls of a single or repeat strategy."""

    done: int
    of: int
    """The number of calls in all."""


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The next block of a search, with the bracket so far."""

    block: Block
    unit: str
    """Of the setting that is searched."""
    requests: int
    """Requests of all blocks so far."""
    elapsed_s: float

    @property
    def bracket(self) -> str:
        """What is known so far: `holds up to 176 ms, broken from 500 ms`."""
        held, broken = self.block.held, self.block.broken
        words = [] if held is None else [f"holds up to {shortest(held)} {self.unit}".rstrip()]
        words += [] if broken is None else [f"broken from {shortest(broken)} {self.unit}".rstrip()]
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class FrontierProgress:
    """The next block of a search of two settings, with the map so far."""

    block: PairBlock
    grid: Grid
    units: tuple[str, str]
    """Of the settings that are searched."""
    requests: int
    """Requests of all blocks so far."""
    elapsed_s: float

    @property
    def known(self) -> str:
        """What is known so far: `12 of 81 pairs hold, 20 are broken`; empty if nothing is."""
        decisions = [each for row in self.block.known for each in row]
        held, broken = decisions.count("held"), decisions.count("broken")
        if not held and not broken:
            return ""
        return f"{held} of {self.grid.pairs} pairs hold, {broken} are broken"


@dataclass(frozen=True, slots=True)
class ItemEnded:
    """An item is finished, with its part of the report."""

    report: ItemReport


RunEvent: TypeAlias = (
    ItemBegan | PhaseBegan | LoadProgress | CallProgress | SearchProgress | FrontierProgress | ItemEnded
)
RunListener: TypeAlias = Callable[[RunEvent], None]
