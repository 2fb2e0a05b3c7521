"""The live view of a scenario run on a terminal: the current item, its progress and its figures."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from faultkit.base.numbers import shortest
from faultkit.base.text import counted
from faultkit.base.units import format_duration
from faultkit.cli.live_view import LiveView
from faultkit.load.load import Progress
from faultkit.load.search.share_evidence import Decision
from faultkit.scenario.report.scenario_text import item_line
from faultkit.scenario.run_events import (
    CallProgress,
    FrontierProgress,
    ItemBegan,
    ItemEnded,
    LoadProgress,
    PhaseBegan,
    RunEvent,
    SearchProgress,
)

_PHASES = {
    "baseline": "without the faults",
    "faults": "with the faults",
    "calls": "calling",
    "search": "searching",
}
_SIGNS: dict[Decision, tuple[str, str]] = {
    "held": ("✓", "green"),
    "broken": ("✕", "red"),
    "undecided": ("·", "dim"),
}
"""The sign and the style of a pair of values."""
_STYLES = {"passed": "green", "failed": "red"}


class ScenarioView:
    """A watcher (see `faultkit.cli.scenario_run`) that redraws the current item on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._live = LiveView(console or Console(stderr=True))
        self._item: ItemBegan | None = None
        self._phase: PhaseBegan | None = None
        self._began = 0.0
        self._share = 0.0
        self._progress: Progress | None = None
        self._search: SearchProgress | FrontierProgress | None = None

    def __enter__(self) -> ScenarioView:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def watch(self, event: RunEvent) -> None:
        match event:
            case ItemBegan():
                self._item, self._phase, self._progress, self._share = event, None, None, 0.0
                self._search = None
            case PhaseBegan():
                self._phase, self._began, self._progress, self._share = event, time.monotonic(), None, 0.0
            case LoadProgress(progress):
                self._progress = progress
            case SearchProgress() | FrontierProgress():
                self._search = event
            case CallProgress(done, of):
                self._share = done / of
            case ItemEnded(report):
                style = _STYLES.get(report.verdict, "yellow")
                self._live.console.print(Text(item_line(report), style=style))
        self._live.update(self.screen(time.monotonic()), refresh=True)

    def screen(self, now: float) -> RenderableType:
        """Return the whole view."""
        item, phase = self._item, self._phase
        if item is None:
            return Text("")
        call = item.item.call
        parts: list[RenderableType] = [
            Text(f"[{item.number}/{item.of}] {item.title}", style="bold"),
            Text(call.shown, style="dim"),
        ]
        if phase is not None:
            parts.append(self._bar(phase, now))
        match self._search:
            case SearchProgress():
                parts.append(_bracket(self._search))
            case FrontierProgress():
                parts += [_map(self._search), _pairs(self._search)]
        if self._progress is not None:
            parts.append(_figures(self._progress))
        return Group(*parts)

    def _bar(self, phase: PhaseBegan, now: float) -> Table:
        share, left = self._share, ""
        if phase.seconds:
            elapsed_s = now - self._began
            share = min(1.0, elapsed_s / phase.seconds)
            left = f"{format_duration(round(max(0.0, phase.seconds - elapsed_s)))} left"
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_row(Text(_PHASES[phase.phase]), ProgressBar(1.0, share, width=30), Text(left, style="dim"))
        return row


def _bracket(search: SearchProgress) -> Text:
    """Return what a search knows, where it is, and what it has spent."""
    block = search.block
    at = f"{shortest(block.value)} {search.unit}".rstrip()
    known = search.bracket or "nothing is known yet"
    return Text(
        f"{known}; now {counted(block.requests, 'request')} at {at} ({block.phase}); "
        f"{counted(search.requests, 'request')} spent, {100 * block.spent:.0f} % of the budget"
    )


def _map(search: FrontierProgress) -> Table:
    """Return the map so far: the first setting to the right, the second one upwards."""
    grid, at, units = search.grid, search.block.cell, search.units
    table = Table.grid(padding=(0, 1, 0, 0))
    for row in reversed(range(len(grid.second))):
        signs = Text()
        for column in range(len(grid.first)):
            sign, style = _SIGNS[search.block.known[column][row]]
            signs.append(f" {sign} ", style=f"{style} reverse" if at == (column, row) else style)
        label = Text(f"{shortest(grid.second[row])} {units[1]}".rstrip(), style="dim", justify="right")
        table.add_row(label, signs)
    ends = f" {shortest(grid.first[0])} to {shortest(grid.first[-1])} {units[0]}".rstrip()
    table.add_row("", Text(ends, style="dim"))
    return table


def _pairs(search: FrontierProgress) -> Text:
    """Return what a search of two settings knows, where it is, and what it has spent."""
    block = search.block
    values = zip(block.values, search.units, strict=True)
    at = " and ".join(f"{shortest(value)} {unit}".rstrip() for value, unit in values)
    known = search.known or "nothing is known yet"
    return Text(
        f"{known}; now {counted(block.requests, 'request')} at {at}; "
        f"{counted(search.requests, 'request')} spent, {100 * block.spent:.0f} % of the budget"
    )


def _figures(progress: Progress) -> Text:
    return Text(
        f"{progress.done} done, {progress.errors} errors, {progress.in_flight} under way, "
        f"{progress.dropped} dropped, p50 {progress.p50_ms:.1f} ms, p95 {progress.p95_ms:.1f} ms"
    )
