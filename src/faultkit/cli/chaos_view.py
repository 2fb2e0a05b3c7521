"""The live view of experiments on a terminal: phases, latest checks and actions, and rollbacks."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from faultkit.base.text import counted
from faultkit.chaos.experiment.experiment_model import Event
from faultkit.cli.live_view import LiveView

PHASES = ("gate", "method", "recheck", "rollback")
_SHOWN_LINES = 8
_REDRAW_S = 0.25


@dataclass(slots=True)
class ExperimentProgress:
    """The state of one experiment, as its events describe it."""

    name: str
    began: float
    phase: str = ""
    phase_results: dict[str, bool | None] = field(default_factory=dict)
    """By phase: whether its checks were met; None while it runs, or if it has no checks."""
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Text and style of each line, the newest last."""
    outcome: str = ""


class ExperimentView:
    """A context manager that shows the events passed to `watch`.

    A thread redraws the view between events, so that elapsed times advance."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = LiveView(self._console)
        self._experiments: dict[str, ExperimentProgress] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._drawing = threading.Thread(target=self._draw, name="fault-chaos-view", daemon=True)

    def __enter__(self) -> ExperimentView:
        self._live.start()
        self._drawing.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed.set()
        self._drawing.join()
        self._live.stop()

    def watch(self, name: str, event: Event) -> None:
        """Show one event of the experiment with this name."""
        with self._lock:
            progress = self._experiments.setdefault(name, ExperimentProgress(name, time.monotonic()))
            apply_event(progress, event)
        self._refresh()

    def screen(self, now: float) -> RenderableType:
        """Return the whole view."""
        with self._lock:
            return Group(*(part for each in self._experiments.values() for part in _parts(each, now)))

    def _draw(self) -> None:
        while not self._closed.wait(_REDRAW_S):
            self._refresh()

    def _refresh(self) -> None:
        self._live.update(self.screen(time.monotonic()), refresh=True)


def apply_event(progress: ExperimentProgress, event: Event) -> None:
    """Update the progress of an experiment with one of its events."""
    data = event.data
    if event.kind == "phase_began":
        progress.phase = data["phase"]
        if not data.get("left_out"):
            progress.phase_results.setdefault(progress.phase, None)
    elif event.kind == "phase_ended":
        progress.phase_results[data["phase"]] = data.get("met")
    elif event.kind == "run_ended":
        progress.outcome = data["outcome"]
    elif (line := _line(event.kind, data)) is not None:
        progress.lines = [*progress.lines, line][-_SHOWN_LINES:]


def _line(kind: str, data: Any) -> tuple[str, str] | None:
    if kind == "check_ended":
        word, style = {True: ("met", "green"), False: ("not met", "red"), None: ("done", "")}[data["met"]]
        why = f": {data['why']}" if data.get("why") else ""
        return f"{data['phase']}: {data['name']}: {word}{why}", style
    if kind == "action_began":
        return f"action: {data['name']}", "yellow"
    if kind == "action_ended" and not data["ok"]:
        return f"action: {data['name']}: failed: {data['why']}", "red"
    if kind == "pause_began":
        return f"pause for {data['seconds']:g} s", "dim"
    if kind == "level_ended":
        at = f"{data['setting']} at {data['value']:g} {data['unit']}".rstrip()
        return f"{at}: met in {data['met']} of {counted(data['rounds'], 'round')}", "dim"
    if kind == "stopping":
        return f"stopping: {data['why']}", "bold yellow"
    if kind == "rolled_back":
        word = "undone" if data["ok"] else f"FAILED: {data['message']}"
        return f"rollback: {data['says']}: {word}", "green" if data["ok"] else "bold red"
    return None


_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("…", "yellow")}


def _parts(progress: ExperimentProgress, now: float) -> list[RenderableType]:
    head = Text()
    head.append(progress.name, style="bold")
    results = progress.phase_results
    for phase in PHASES:
        mark, style = _MARKS[results[phase]] if phase in results else ("·", "dim")
        if phase in results and results[phase] is None and phase != progress.phase:
            mark, style = "✓", ""
        head.append(f"   {mark} {phase}", style=style)
    head.append(f"   {progress.outcome or f'{now - progress.began:.1f} s'}", style="dim")
    return [head, *(Text(f"  {text}", style=style) for text, style in progress.lines)]
