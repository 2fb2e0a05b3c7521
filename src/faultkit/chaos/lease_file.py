"""What a lease's file says: lines of JSON, only ever added to, and folded here into what is left to undo.

A line torn by a crash is the last one and stands for something that has not begun: it is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from faultkit.chaos.undo import Undo, UndoResult, undo_of


@dataclass(frozen=True, slots=True)
class Intent:
    id: str
    undo: Undo
    result: UndoResult | None = None
    by: str = ""
    """Who undid it: the owner, the guardian, or recover."""
    at: str = ""
    """When it was undone, or last tried."""

    @property
    def is_left(self) -> bool:
        return self.result is None or not self.result.ok


@dataclass(frozen=True, slots=True)
class LeaseView:
    id: str
    owner: str = ""
    pid: int = 0
    birth: str = ""
    boot: str = ""
    opened_at: str = ""
    lease_s: float = 0.0
    until_s: float = 0.0
    """On the monotonic clock of that boot."""
    intents: tuple[Intent, ...] = ()
    notes: tuple[Mapping[str, Any], ...] = ()
    ended: str | None = None

    @property
    def left(self) -> tuple[Intent, ...]:
        """What must still be undone, last first."""
        return tuple(intent for intent in reversed(self.intents) if intent.is_left)

    @property
    def is_over(self) -> bool:
        return self.ended is not None and not self.left


@dataclass(slots=True)
class _Fold:
    view: LeaseView
    intents: dict[str, Intent] = field(default_factory=dict)


def read_lease(id: str, lines: Iterable[str]) -> LeaseView:
    fold = _Fold(LeaseView(id))
    for line in lines:
        try:
            event = json.loads(line)
            _take(fold, event)
        except (ValueError, KeyError, TypeError):
            continue
    return replace(fold.view, intents=tuple(fold.intents.values()))


def _take(fold: _Fold, event: Mapping[str, Any]) -> None:
    kind, view = event["event"], fold.view
    if kind == "opened":
        fold.view = replace(
            view,
            owner=event["owner"],
            pid=event["pid"],
            birth=event["birth"],
            boot=event["boot"],
            opened_at=event["at"],
            lease_s=event["lease_s"],
            until_s=event["until_s"],
        )
    elif kind == "renewed":
        fold.view = replace(view, until_s=event["until_s"])
    elif kind == "intended":
        fold.intents[event["intent"]] = Intent(event["intent"], undo_of(event["undo"]))
    elif kind == "undone":
        intent = fold.intents[event["intent"]]
        result = UndoResult(event["ok"], event["message"])
        fold.intents[intent.id] = replace(intent, result=result, by=event["by"], at=event.get("at", ""))
    elif kind == "ended":
        fold.view = replace(view, ended=event["outcome"])
    else:
        fold.view = replace(view, notes=(*view.notes, event))
