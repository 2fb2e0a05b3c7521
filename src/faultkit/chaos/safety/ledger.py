"""The ledger: a folder with one file a lease, which says what is broken now and how to undo it.

Leases whose owner has died are found and undone here, by the guardian and by `fault chaos recover`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.lease import (
    RENEWALS_A_LEASE,
    USUAL_LEASE_S,
    Lease,
    LeaseView,
    parse_lease,
    read_lines,
    try_append,
)
from faultkit.chaos.safety.process_identity import boot_id
from faultkit.chaos.safety.undo import Undo, UndoResult, carry_out

_MOST_FILES = 200
"""Files kept of leases that ended well."""
_NO_MARKS = str.maketrans("", "", ":-.Z")

State: TypeAlias = Literal["running", "lapsed", "orphaned", "left", "over"]
"""`lapsed`: its owner lives but did not renew it. `orphaned`: its owner died. `left`: it was ended, but an
effect could not be undone. `over`: nothing is left to undo."""


def default_state_dir(env: Mapping[str, str]) -> Path:
    """Return the folder of the ledger and the kill switch, if no setting names another one."""
    from faultkit.audit.log_file import default_store

    return default_store(env).parent / "chaos"


class Ledger:
    """The leases of one state folder."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self._leases = state_dir / "leases"
        self._kept_open: dict[str, int] = {}
        """Descriptors of lease files that stay readable although their folder is removed."""
        self._unwritten: dict[tuple[str, str], UndoResult] = {}
        """Undos that succeeded while the file could not be written, by lease and intent."""

    def open(self, owner: str, lease_s: float = USUAL_LEASE_S, *, guarded: bool = True) -> Lease:
        """Open a lease. `owner` describes the process to people; `guarded` starts a guardian process.

        Raises RunError if its file cannot be written: then nothing may start."""
        # Ids sort by time, also those of the same second.
        id = f"{time_text(now_us()).translate(_NO_MARKS)}-{secrets.token_hex(4)}"
        path = self._leases / f"{id}.jsonl"
        try:
            self._leases.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Readable by its user only, because it may contain tokens of control APIs.
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error.strerror}; nothing was begun") from None
        # The kernel frees this lock when the process dies, which is how others know (see `_is_owned`).
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):
            self._remove_old_files()
        return Lease(id, path, file, owner, lease_s, guarded)

    def views(self) -> list[LeaseView]:
        """Return every lease, the oldest first."""
        return [self.view(path.stem) for path in sorted(self._leases.glob("*.jsonl"))]

    def view(self, id: str) -> LeaseView:
        """Return what the file of a lease says; a removed file reads as an ended lease."""
        try:
            with self._opened(id, os.O_RDONLY) as file:
                return parse_lease(id, read_lines(file))
        except FileNotFoundError:
            return LeaseView(id, ended="removed")

    def keep_open(self, id: str) -> None:
        """Keep the file of a lease open, so that it can be undone although the folder is removed."""
        with contextlib.suppress(FileNotFoundError):
            self._kept_open[id] = os.open(self._leases / f"{id}.jsonl", os.O_RDWR | os.O_APPEND)

    def state_of(self, view: LeaseView) -> State:
        """Return whether a lease is in use, abandoned or over."""
        if view.ended is not None:
            return "left" if view.left else "over"
        if not self._is_owned(view.id):
            return "orphaned"
        return "running" if has_time(view) else "lapsed"

    def undo_left(self, id: str, by: str) -> list[tuple[Undo, UndoResult]]:
        """Undo what is left of a lease, the last effect first, and write the results to its file.

        A full disk stops no undo: what could not be written is said in the result, and written by the next
        call if that can. `by`: guardian or recover."""
        done = []
        with self._undo_lock(id), self._opened(id) as file:
            for intent in self.view(id).left:
                result = self._unwritten.pop((id, intent.id), None) or carry_out(intent.undo)
                line = {"intent": intent.id, "ok": result.ok, "message": result.message, "by": by}
                if (trouble := try_append(file, "undone", **line)) is not None:
                    if result.ok:
                        self._unwritten[id, intent.id] = result
                    result = replace(result, message=f"{result.message} (not written down: {trouble})")
                done.append((intent.undo, result))
        return done

    def end(self, id: str, outcome: str) -> str | None:
        """End a lease whose owner cannot. Returns why that could not be written, or None."""
        with self._opened(id) as file:
            return try_append(file, "ended", outcome=outcome)

    @contextlib.contextmanager
    def _opened(self, id: str, flags: int = os.O_RDWR | os.O_APPEND) -> Iterator[int]:
        if id in self._kept_open:
            yield self._kept_open[id]
            return
        file = os.open(self._leases / f"{id}.jsonl", flags)
        try:
            yield file
        finally:
            os.close(file)

    def _is_owned(self, id: str) -> bool:
        """Return whether the process that opened the lease is alive: it holds the lock."""
        try:
            file = os.open(self._leases / f"{id}.jsonl", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(file)

    @contextlib.contextmanager
    def _undo_lock(self, id: str) -> Iterator[None]:
        """Keep guardian and recover from undoing the same lease at the same time."""
        file = self._lock_file(id)
        try:
            if file is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            if file is not None:
                os.close(file)

    def _lock_file(self, id: str) -> int | None:
        # On a full disk no file can be created: lock the folder. Without a folder, do without a lock.
        with contextlib.suppress(OSError):
            return os.open(self._leases / f"{id}.undoing", os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):
            return os.open(self._leases, os.O_RDONLY)
        return None

    def _remove_old_files(self) -> None:
        for path in sorted(self._leases.glob("*.jsonl"))[:-_MOST_FILES]:
            if self.view(path.stem).is_over:
                path.unlink(missing_ok=True)
                path.with_suffix(".undoing").unlink(missing_ok=True)


def has_time(view: LeaseView) -> bool:
    """Return whether a lease has not lapsed."""
    return view.boot == boot_id() and time.monotonic() < view.until_s


@dataclass(frozen=True, slots=True)
class RecoveredLease:
    """What a recovery found in one lease, and did about it."""

    lease: LeaseView
    found: State
    undone: tuple[tuple[Undo, UndoResult], ...]
    """What this recovery undid, the last effect first."""
    unwritten: str | None = None
    """Why the end could not be written: then the next recovery finds the lease again."""

    @property
    def ok(self) -> bool:
        return all(result.ok for _, result in self.undone)


def recover(ledger: Ledger, *, also_running: bool = False) -> list[RecoveredLease]:
    """Undo what crashed processes left, and return every lease that is not over.

    A lease whose owner lives and renews it is reported but not touched, unless `also_running`: then its owner
    finds it ended, and stops."""
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
        found.append(RecoveredLease(view, state, undone, unwritten))
    return found


# A lease for effects that outlast a call: opened with the first effect, ended with the last.
#
# A thread renews it. When the kill switch is pulled or the lease is lost, the thread has every effect ended.


_POLL_S = 0.5


class LeaseKeeper:
    """An `effects.lasting_effect.UndoLog` on a lease that exists only while it is needed. Thread-safe."""

    def __init__(
        self, ledger: Ledger, switch: KillSwitch, owner: str, lease_s: float, end_effects: Callable[[], None]
    ) -> None:
        """`end_effects` is called in the keeper's thread; exceptions that it raises are dropped."""
        self._ledger = ledger
        self._switch = switch
        self._owner = owner
        self._lease_s = lease_s
        self._end_effects = end_effects
        self._lease: Lease | None = None
        self._lock = threading.Lock()

    def intend(self, undo: Undo) -> str:
        """Write down how to undo an effect; return the id of the intent. RunError: it must not start."""
        with self._lock:
            if self._lease is None or self._lease.has_lapsed:
                self._lease = self._ledger.open(self._owner, self._lease_s)
                threading.Thread(
                    target=self._keep, args=(self._lease,), name="fault-chaos-lease", daemon=True
                ).start()
            return f"{self._lease.id}/{self._lease.intend(undo)}"

    def done(self, intent: str, result: UndoResult) -> None:
        """Write down that an effect was undone, and end the lease if it was the last."""
        id, _, number = intent.rpartition("/")
        with self._lock:
            lease = self._lease
            if lease is None or lease.id != id:
                return  # The lease was lost, and the guardian has undone the effect.
            lease.done(number, result)
            if lease.left:
                return
            self._lease = None
        # Without the lock, because this waits for the guardian to end.
        lease.end("nothing is left to undo")

    def close(self) -> None:
        """End the lease at the end of the process. What could not be undone stays in the ledger."""
        with self._lock:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.end("its owner ended" if not lease.left else "its owner ended, and something is left")

    def _keep(self, lease: Lease) -> None:
        renew_at = time.monotonic() + lease.lease_s / RENEWALS_A_LEASE
        while self._lease is lease:
            time.sleep(min(_POLL_S, lease.lease_s / RENEWALS_A_LEASE))
            lost = False
            if self._lease is lease and time.monotonic() >= renew_at:
                renew_at = time.monotonic() + lease.lease_s / RENEWALS_A_LEASE
                lost = not lease.renew()
            if self._lease is lease and (lost or self._switch.pulled() is not None):
                with contextlib.suppress(Exception):
                    self._end_effects()
                if lost:
                    with self._lock:
                        if self._lease is lease:
                            self._lease = None
                return
