"""A lease: the permission of one process to keep effects active, for a limited time and written on disk.

The process that opens a lease holds a lock on its file while it lives, so its death is visible however it
dies. It renews the lease; a lease that expires, or whose owner has died, is undone by other processes
(`recovery`).

The file consists of lines of JSON that are only appended; LeaseView is what they add up to. Every line is on
disk before the next step happens. A line that a crash has torn is the last one, and stands for something that
has not started: it is skipped.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faultkit.base.errors import RunError
from faultkit.base.process_identity import birth_of, boot_id
from faultkit.base.times import now_us, time_text
from faultkit.chaos.safety.kill_switch import KillSwitch
from faultkit.chaos.safety.undo import RENEWALS, Undo, UndoResult, carry_out, parse_undo, renew, undo_document

USUAL_LEASE_S = 60.0
ENDED_ITSELF = "itself"
RENEWALS_A_LEASE = 4
"""Number of renewals in the time of one lease."""
_GUARDIAN_ENDS_S = 5.0
_POLL_S = 0.5


# --- the file --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Intent:
    """An effect that was about to start, and whether it has been undone."""

    id: str
    undo: Undo
    result: UndoResult | None = None
    by: str = ""
    """Which process undid it: owner, guardian or recover; ENDED_ITSELF if there was nothing to undo."""
    at: str = ""
    """Time of the undo, or of its last attempt."""

    @property
    def is_left(self) -> bool:
        return self.result is None or not self.result.ok


@dataclass(frozen=True, slots=True)
class LeaseView:
    """The state that the lines of a lease's file add up to."""

    id: str
    owner: str = ""
    pid: int = 0
    birth: str = ""
    boot: str = ""
    opened_at: str = ""
    lease_s: float = 0.0
    until_s: float = 0.0
    """End of the lease, on the monotonic clock of that boot."""
    intents: tuple[Intent, ...] = ()
    notes: tuple[Mapping[str, Any], ...] = ()
    ended: str | None = None
    """The outcome that the owner, the guardian or recover wrote; None while the lease is open."""
    ended_by: str = ""
    """Which process ended it: owner, guardian or recover."""

    @property
    def left(self) -> tuple[Intent, ...]:
        """The effects that must still be undone, the last one first."""
        return tuple(intent for intent in reversed(self.intents) if intent.is_left)

    @property
    def is_over(self) -> bool:
        return self.ended is not None and not self.left


@dataclass(slots=True)
class _Fold:
    view: LeaseView
    intents: dict[str, Intent] = field(default_factory=dict)


def parse_lease(id: str, lines: Iterable[str]) -> LeaseView:
    """Return the state that these lines describe. Lines that cannot be read are skipped."""
    fold = _Fold(LeaseView(id))
    for line in lines:
        try:
            _apply(fold, json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue
    return replace(fold.view, intents=tuple(fold.intents.values()))


def _apply(fold: _Fold, event: Mapping[str, Any]) -> None:
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
        fold.intents[event["intent"]] = Intent(event["intent"], parse_undo(event["undo"]))
    elif kind == "undone":
        intent = fold.intents[event["intent"]]
        result = UndoResult(event["ok"], event["message"])
        fold.intents[intent.id] = replace(intent, result=result, by=event["by"], at=event.get("at", ""))
    elif kind == "ended":
        # Before this was written down, only guardian and recover began their reasons like this.
        by = event.get("by") or ("guardian" if "undone by" in event["outcome"] else "owner")
        fold.view = replace(view, ended=event["outcome"], ended_by=by)
    else:
        fold.view = replace(view, notes=(*view.notes, event))


def read_lines(file: int) -> list[str]:
    """Return the lines of an open lease file."""
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace").splitlines()


def try_append(file: int, event: str, **data: Any) -> str | None:
    """Append a line; return why that failed, or None once the line is on disk where others find it."""
    try:
        append_line(file, event, **data)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.fstat(file).st_nlink else "the file was removed"


def append_line(file: int, event: str, **data: Any) -> None:
    """Append a line and wait until it is on disk. Raises OSError."""
    line = json.dumps({"at": time_text(now_us()), "event": event, **data}, ensure_ascii=False) + "\n"
    size = os.fstat(file).st_size
    # After a line torn by a crash or a full disk, start a new one, so that it does not swallow this line.
    is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    raw = ("\n" if is_torn else "").encode() + line.encode("utf-8", "replace")
    if os.write(file, raw) < len(raw):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


# --- the owner's side -----------------------------------------------------------------------------


class Lease:
    """The owner's side of a lease. Thread-safe. `Ledger.open` makes it."""

    def __init__(self, id: str, path: Path, file: int, owner: str, lease_s: float, guarded: bool) -> None:
        self.id = id
        self.owner = owner
        self.lease_s = lease_s
        self.trouble = ""
        """Why the file cannot be written any more. Effects are still undone."""
        self._path = path
        self._lock = threading.Lock()
        self._file = file
        self._left: dict[str, Undo] = {}
        self._count = 0
        self._until_s = time.monotonic() + lease_s
        self._is_open = True
        self._guardian: subprocess.Popen[bytes] | None = None
        pid = os.getpid()
        try:
            self._must_write(
                "opened",
                owner=owner,
                pid=pid,
                birth=birth_of(pid) or "",
                boot=boot_id(),
                lease_s=lease_s,
                until_s=self._until_s,
            )
        except RunError:
            # Nothing has started, and an incomplete line would look like the file of a crashed process.
            self._discard()
            os.close(file)
            raise
        if guarded:
            self._guardian = _start_guardian(path)

    @property
    def has_lapsed(self) -> bool:
        return time.monotonic() >= self._until_s

    @property
    def guardian_pid(self) -> int | None:
        return None if self._guardian is None else self._guardian.pid

    def intend(self, undo: Undo) -> str:
        """Write down how to undo an effect that is about to start; return the id of the intent.

        Raises RunError if that is not possible: then the effect must not start."""
        with self._lock:
            if not self._is_open or self.has_lapsed:
                raise RunError(f"the lease of {self.owner} is over: nothing may start under it any more")
            self._count += 1
            id = str(self._count)
            self._must_write("intended", intent=id, undo=undo_document(undo))
            self._left[id] = undo
        self.replace_dead_guardian()
        return id

    def record_undo(self, intent: str, result: UndoResult, by: str = "owner") -> None:
        """Write down that the effect was undone, or could not be."""
        with self._lock:
            self._try_write("undone", intent=intent, ok=result.ok, message=result.message, by=by)
            if result.ok:
                self._left.pop(intent, None)

    def undo(self, intent: str) -> UndoResult:
        """Undo one effect. Blocks, up to the limit of the undo."""
        undo = self._left.get(intent)
        if undo is None:
            return UndoResult(True, "it was undone already")
        result = carry_out(undo)
        self.record_undo(intent, result)
        return result

    @property
    def left(self) -> tuple[Undo, ...]:
        """The effects that are not undone yet, the last one first."""
        return tuple(self._left[id] for id in sorted(self._left, key=int, reverse=True))

    def note(self, event: str, **data: Any) -> None:
        """Write down an event of the run, for people who read the file after a crash."""
        with self._lock:
            self._try_write(event, **data)

    def renew(self) -> bool:
        """Extend the lease. Returns False if it has lapsed or was ended by another process, which then undoes
        its effects: the owner must stop."""
        with self._lock:
            if self.has_lapsed or not self._is_open or self._was_ended_by_others():
                return False
            until_s = time.monotonic() + self.lease_s
            # Never longer than the file says, because the guardian reads the file.
            if not self._try_write("renewed", until_s=until_s):
                return True
            self._until_s = until_s
            left = tuple(self._left.values())
        self.replace_dead_guardian()
        if any(undo.kind in RENEWALS for undo in left):
            # In a thread: a control API may answer slowly, and the caller must not be delayed.
            threading.Thread(
                target=self._renew_effects, args=(left,), name="fault-renewal", daemon=True
            ).start()
        return True

    def _renew_effects(self, left: tuple[Undo, ...]) -> None:
        for undo in left:
            renew(undo, self.lease_s)

    def replace_dead_guardian(self) -> None:
        """Start another guardian if the last one has died. Call it from time to time."""
        if self._is_open and self._guardian is not None and self._guardian.poll() is not None:
            assert self._guardian.stdin is not None
            self._guardian.stdin.close()
            self._guardian = _start_guardian(self._path)

    def end(self, outcome: str) -> None:
        """Close the lease. Effects that could not be undone stay in the file, for `fault chaos recover`."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
            if not self._try_write("ended", outcome=outcome, by="owner") and not self._left:
                # Everything is undone but the file cannot say so: remove it, so that nothing is undone twice.
                self._discard()
        if self._guardian is not None:
            assert self._guardian.stdin is not None
            with contextlib.suppress(OSError):
                self._guardian.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guardian.wait(_GUARDIAN_ENDS_S)
        os.close(self._file)

    def _was_ended_by_others(self) -> bool:
        # Read the open file: the one in the folder may have been removed.
        try:
            return parse_lease(self.id, read_lines(self._file)).ended is not None
        except OSError as error:
            self.trouble = f"{self._path.name}: {error}"
            return False

    def _must_write(self, event: str, **data: Any) -> None:
        if not self._try_write(event, **data):
            raise RunError(f"what is to be undone cannot be written down ({self.trouble})")

    def _try_write(self, event: str, **data: Any) -> bool:
        trouble = try_append(self._file, event, **data)
        if trouble is not None:
            self.trouble = f"{self._path.name}: {trouble}"
        return trouble is None

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()


def _start_guardian(path: Path) -> subprocess.Popen[bytes]:
    folders = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return subprocess.Popen(
        # -P: a file in the current folder must not be imported in place of one of our modules.
        [sys.executable, "-P", "-m", "faultkit.chaos.safety.recovery", str(path.parent.parent), path.stem],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": folders},
    )


class LeaseKeeper:
    """A lease for effects that outlast a call: opened with the first effect, ended with the last.

    Thread-safe. A thread renews it. When the kill switch is pulled or the lease is lost, the thread has every
    effect ended. It is an `effects.lasting_effect.UndoLog`."""

    def __init__(
        self, open_lease: Callable[[], Lease], kill_switch: KillSwitch, end_effects: Callable[[], None]
    ) -> None:
        """`end_effects` is called in the keeper's thread; exceptions that it raises are dropped."""
        self._open_lease = open_lease
        self._kill_switch = kill_switch
        self._end_effects = end_effects
        self._lease: Lease | None = None
        self._lock = threading.Lock()

    def intend(self, undo: Undo) -> str:
        """Write down how to undo an effect; return the id of the intent. RunError: it must not start."""
        with self._lock:
            if self._lease is None or self._lease.has_lapsed:
                self._lease = self._open_lease()
                threading.Thread(
                    target=self._keep, args=(self._lease,), name="fault-chaos-lease", daemon=True
                ).start()
            return f"{self._lease.id}/{self._lease.intend(undo)}"

    def record_undo(self, intent: str, result: UndoResult) -> None:
        """Write down that an effect was undone, and end the lease if it was the last."""
        id, _, number = intent.rpartition("/")
        with self._lock:
            lease = self._lease
            if lease is None or lease.id != id:
                return  # The lease was lost, and the guardian has undone the effect.
            lease.record_undo(number, result)
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
            if self._lease is lease and (lost or self._kill_switch.pulled() is not None):
                with contextlib.suppress(Exception):
                    self._end_effects()
                if lost:
                    with self._lock:
                        if self._lease is lease:
                            self._lease = None
                return
