"""A lease for effects that outlast a call, opened with the first of them and ended with the last.

It renews itself in a thread of its own, and tells its owner to let go of everything when the stop lever is
pulled or when the lease is lost.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from faultkit.chaos.ledger import RENEWALS_A_LEASE, Lease, Ledger
from faultkit.chaos.lever import Lever
from faultkit.chaos.undo import Undo, UndoResult

_LOOK_EVERY_S = 0.5


class Holding:
    """What `chaos.effects.lasting.Lease` asks for. Any thread may use it."""

    def __init__(
        self, ledger: Ledger, lever: Lever, owner: str, lease_s: float, let_go: Callable[[], None]
    ) -> None:
        """`let_go`: end every effect. It is called in a thread of its own, and what it raises is dropped."""
        self._ledger = ledger
        self._lever = lever
        self._owner = owner
        self._lease_s = lease_s
        self._let_go = let_go
        self._lease: Lease | None = None
        self._lock = threading.Lock()

    def intend(self, undo: Undo) -> str:
        """RunError if it cannot be written down: then the effect must not be."""
        with self._lock:
            if self._lease is None or self._lease.has_lapsed:
                self._lease = self._ledger.open(self._owner, self._lease_s)
                threading.Thread(
                    target=self._keep, args=(self._lease,), name="fault-chaos-lease", daemon=True
                ).start()
            return f"{self._lease.id}/{self._lease.intend(undo)}"

    def done(self, intent: str, result: UndoResult) -> None:
        id, _, number = intent.rpartition("/")
        with self._lock:
            lease = self._lease
            if lease is None or lease.id != id:
                return  # It was lost, and others have undone it.
            lease.done(number, result)
            if lease.left:
                return
            self._lease = None
        # Without the lock: it waits for the guardian to go.
        lease.end("nothing is left to undo")

    def close(self) -> None:
        """For the end of the process: what is left was tried, and stays in the ledger."""
        with self._lock:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.end("its owner ended" if not lease.left else "its owner ended, and something is left")

    def _keep(self, lease: Lease) -> None:
        renew_at = time.monotonic() + lease.lease_s / RENEWALS_A_LEASE
        while self._lease is lease:
            time.sleep(min(_LOOK_EVERY_S, lease.lease_s / RENEWALS_A_LEASE))
            lost = False
            if self._lease is lease and time.monotonic() >= renew_at:
                renew_at = time.monotonic() + lease.lease_s / RENEWALS_A_LEASE
                lost = not lease.renew()
            if self._lease is lease and (lost or self._lever.pulled() is not None):
                with contextlib.suppress(Exception):
                    self._let_go()
                if lost:
                    with self._lock:
                        if self._lease is lease:
                            self._lease = None
                return
