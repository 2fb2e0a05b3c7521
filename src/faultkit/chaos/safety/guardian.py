"""The guardian: a small process that undoes the effects of a lease when the owner cannot.

    python -m faultkit.chaos.safety.guardian STATE_DIR LEASE

Its standard input is a pipe that the owner holds. The pipe ends when the owner does, however it dies. The
guardian also acts when the lease lapses, or when the kill switch is pulled and the owner does not react.
"""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path

from faultkit.base.signals import ignore_signals
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.ledger import Ledger, has_time

_STDIN = 0
_POLL_S = 1.0
_REACTION_S = 10.0
"""How long an owner may take to roll back by itself after the switch was pulled."""
_MOST_ATTEMPTS = 3


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
            break
    ledger.end(id, f"undone by the guardian: {why}")


def _wait(ledger: Ledger, switch: KillSwitch, id: str) -> str:
    """Return why the guardian has to act; an empty text if the lease was ended in good order."""
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
            return "the stop lever was pulled"


def main() -> None:
    """Ignore signals that are meant for the owner, and guard one lease."""
    ignore_signals()
    guard(Path(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
