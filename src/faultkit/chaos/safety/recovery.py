"""Undo after a crash: the guardian process of each lease, and `fault chaos recover`.

The effects of a lease are undone by the first of these that can:

    its owner      at the end of a run, and when it is stopped
    its guardian   if the owner has died, does not renew the lease, or does not react to the kill switch
    `recover`      if owner and guardian have both died, also after a reboot
    a proxy        by the time limit that each rule has at the control API, if nothing else is left

Undoing an effect twice does no harm. Ledger has the files and their locks; this module decides what is undone
and when.

A guardian is a small process, started with each lease:

    python -m faultkit.chaos.safety.recovery STATE_DIR LEASE

Its standard input is a pipe that the owner holds. The pipe ends with the owner, however it dies.
"""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.signals import ignore_signals
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import LeaseView
from faultkit.chaos.safety.ledger import LeaseState, Ledger, has_time
from faultkit.chaos.safety.undo import Undo, UndoResult

_STDIN = 0
_POLL_S = 1.0
_REACTION_S = 10.0
"""Time that an owner has to roll back by itself after the switch was pulled."""
_MOST_ATTEMPTS = 3
BY_GUARDIAN = "undone by the guardian"
"""Begins the reason with which a lease ends whose effects the guardian has undone."""


# --- fault chaos recover ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecoveredLease:
    """The state in which a recovery found a lease, and what it undid."""

    lease: LeaseView
    found: LeaseState
    undone: tuple[tuple[Undo, UndoResult], ...]
    """The undos of this recovery, the last effect first."""
    unwritten: str | None = None
    """Why the end could not be written: then the next recovery finds the lease again."""

    @property
    def ok(self) -> bool:
        return all(result.ok for _, result in self.undone)


def recover(ledger: Ledger, *, also_running: bool = False) -> list[RecoveredLease]:
    """Undo what crashed processes left, and return every lease that is not over.

    A lease whose owner lives and renews it is reported but not touched, unless `also_running`: then its owner
    finds it ended, and stops."""
    recovered = []
    for view in ledger.views():
        state = ledger.state_of(view)
        if state == "over":
            continue
        undone: tuple[tuple[Undo, UndoResult], ...] = ()
        unwritten = None
        if state != "running" or also_running:
            undone = tuple(ledger.undo_left(view.id, by="recover"))
            if view.ended is None:
                is_undone = all(result.ok for _, result in undone)
                unwritten = ledger.end(view.id, "undone by recover" if is_undone else "not undone by recover")
        recovered.append(RecoveredLease(view, state, undone, unwritten))
    return recovered


# --- the guardian process --------------------------------------------------------------------------


def guard(state_dir: Path, id: str) -> None:
    """Wait until the lease ends or its owner fails; then undo what is left."""
    ledger = Ledger(state_dir)
    ledger.keep_open(id)
    why = _wait(ledger, KillSwitch(state_dir), id)
    if ledger.view(id).ended is not None:
        return
    for attempt in range(_MOST_ATTEMPTS):
        if attempt:
            time.sleep(_POLL_S)
        if all(result.ok for _, result in ledger.undo_left(id, by="guardian")):
            ledger.end(id, f"{BY_GUARDIAN}: {why}", "guardian")
            return
    ledger.end(id, f"not {BY_GUARDIAN}: {why}", "guardian")


def _wait(ledger: Ledger, switch: KillSwitch, id: str) -> str:
    """Wait until the guardian has to act; return why, or an empty text if the lease was ended normally."""
    pulled_s: float | None = None
    while True:
        readable, _, _ = select.select([_STDIN], [], [], _POLL_S)
        if readable and not os.read(_STDIN, 1024):
            return "its owner is gone"
        view = ledger.view(id)
        if view.ended is not None:
            return ""
        if not has_time(view):
            return "the lease lapsed"
        if switch.pulled() is None:
            pulled_s = None
        elif pulled_s is None:
            pulled_s = time.monotonic()
        elif time.monotonic() - pulled_s > _REACTION_S:
            return "the kill switch was pulled"


def main() -> None:
    """Ignore signals that are meant for the owner, and guard one lease."""
    ignore_signals()
    guard(Path(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
