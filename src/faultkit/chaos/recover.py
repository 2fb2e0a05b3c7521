"""After a crash: what was left broken, undone now, and told as it is."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.chaos.lease_file import LeaseView
from faultkit.chaos.ledger import Ledger, State
from faultkit.chaos.undo import Undo, UndoResult


@dataclass(frozen=True, slots=True)
class Recovered:
    lease: LeaseView
    found: State
    undone: tuple[tuple[Undo, UndoResult], ...]
    """By this recovery, last first."""
    unwritten: str | None = None
    """Why the end could not be written: then the next recovery finds it once more."""

    @property
    def ok(self) -> bool:
        return all(result.ok for _, result in self.undone)


def recover(ledger: Ledger, *, also_running: bool = False) -> list[Recovered]:
    """Every lease that is not over. Those whose owner lives and renews are told of and left alone, unless
    `also_running` says otherwise: their owners find their lease ended and stop."""
    found = []
    for view in ledger.views():
        state = ledger.state_of(view)
        if state == "over":
            continue
        undone: tuple[tuple[Undo, UndoResult], ...] = ()
        unwritten = None
        if state != "running" or also_running:
            undone = tuple(ledger.undo_left(view.id, by="recover"))
            if view.ended is None:
                unwritten = ledger.end(view.id, "undone by recover")
        found.append(Recovered(view, state, undone, unwritten))
    return found
