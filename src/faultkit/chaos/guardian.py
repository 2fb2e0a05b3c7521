"""The small process that outlives its owner: it undoes what the owner of a lease cannot any more.

    python -m faultkit.chaos.guardian STATE_DIR LEASE

Its standard input is a pipe that the owner holds: the end of it is the end of the owner, by whatever death.
It also acts when the lease lapses, or when the stop lever was pulled and the owner does not heed it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

from faultkit.chaos.ledger import Ledger, has_time
from faultkit.chaos.lever import Lever

_OWNER = 0
"""Standard input."""
_LOOK_EVERY_S = 1.0
_HEED_S = 10.0
"""So long an owner may take to roll back by itself after the lever was pulled."""
_AT_MOST_TRIES = 3


def guard(state_dir: Path, id: str) -> None:
    ledger = Ledger(state_dir)
    ledger.keep(id)
    why = _wait(ledger, Lever(state_dir), id)
    if ledger.view(id).ended is not None:
        return
    for attempt in range(_AT_MOST_TRIES):
        if attempt:
            time.sleep(_LOOK_EVERY_S)
        if all(result.ok for _, result in ledger.undo_left(id, by="guardian")):
            break
    ledger.end(id, f"undone by the guardian: {why}")


def _wait(ledger: Ledger, lever: Lever, id: str) -> str:
    """Why it is time to act; or the lease has ended in good order."""
    pulled_s: float | None = None
    while True:
        readable, _, _ = select.select([_OWNER], [], [], _LOOK_EVERY_S)
        if readable and not os.read(_OWNER, 1024):
            return "its owner is gone"
        view = ledger.view(id)
        if view.ended is not None:
            return ""
        if not has_time(view):
            return "the lease lapsed"
        if lever.pulled() is None:
            pulled_s = None
        elif pulled_s is None:
            pulled_s = time.monotonic()
        elif time.monotonic() - pulled_s > _HEED_S:
            return "the stop lever was pulled"


def main() -> None:
    # What is meant for the owner must not end the one who cleans up behind it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    guard(Path(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
