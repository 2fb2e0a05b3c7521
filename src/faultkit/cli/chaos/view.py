"""The live view of experiments on a terminal: the phases, what was just seen, and what is being undone."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from faultkit.chaos.experiment.journal import Event

PHASES = ("gate", "method", "recheck", "rollback")
_SHOWN_LINES = 8
_EVERY_S = 0.25


@dataclass(slots=True)
class Shown:
    """What is to be seen of one experiment."""

    name: str
    began: float
    phase: str = ""
    ended: dict[str, bool | None] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Text and style, the newest last."""
    outcome: str = ""


class View:
    """A context manager that is told what happens. It draws itself now and then, so that time goes on."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._shown: dict[str, Shown] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._drawing = threading.Thread(target=self._draw, name="fault-chaos-view", daemon=True)

    def __enter__(self) -> View:
        self._live.start()
        self._drawing.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._drawing.join()
        self._live.stop()

    def watch(self, name: str, event: Event) -> None:
        with self._lock:
            shown = self._shown.setdefault(name, Shown(name, time.monotonic()))
            take(shown, event)
        self._refresh()

    def screen(self, now: float) -> RenderableType:
        """All that is to be seen, as one value."""
        with self._lock:
            return Group(*(part for shown in self._shown.values() for part in _parts(shown, now)))

    def _draw(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._refresh()

    def _refresh(self) -> None:
        self._live.update(self.screen(time.monotonic()), refresh=True)


def take(shown: Shown, event: Event) -> None:
    data = event.data
    if event.kind == "phase_began":
        shown.phase = data["phase"]
        shown.ended.setdefault(shown.phase, None)
    elif event.kind == "phase_ended":
        shown.ended[data["phase"]] = data.get("met")
    elif event.kind == "run_ended":
        shown.outcome = data["outcome"]
    elif (line := _line(event.kind, data)) is not None:
        shown.lines = [*shown.lines, line][-_SHOWN_LINES:]


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
    if kind == "stopping":
        return f"stopping: {data['why']}", "bold yellow"
    if kind == "rolled_back":
        word = "undone" if data["ok"] else f"FAILED: {data['message']}"
        return f"rollback: {data['says']}: {word}", "green" if data["ok"] else "bold red"
    return None


_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("…", "yellow")}


def _parts(shown: Shown, now: float) -> list[RenderableType]:
    head = Text()
    head.append(shown.name, style="bold")
    for phase in PHASES:
        mark, style = _MARKS[shown.ended[phase]] if phase in shown.ended else ("·", "dim")
        if phase in shown.ended and shown.ended[phase] is None and phase != shown.phase:
            mark, style = "✓", ""
        head.append(f"   {mark} {phase}", style=style)
    head.append(f"   {shown.outcome or f'{now - shown.began:.1f} s'}", style="dim")
    return [head, *(Text(f"  {text}", style=style) for text, style in shown.lines)]
