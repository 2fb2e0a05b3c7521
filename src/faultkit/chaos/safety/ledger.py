"""The ledger: a folder with one file a lease, which says what is broken now and how to undo it.

The owner opens a lease here. Other processes read it, undo what is left of it, and end it; `recovery` decides
when.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError, RunError
from faultkit.base.process_identity import boot_id
from faultkit.base.times import now_us, time_text
from faultkit.chaos.safety.lease import USUAL_LEASE_S, Lease, LeaseView, parse_lease, read_lines, try_append
from faultkit.chaos.safety.undo import Undo, UndoResult, carry_out

_MOST_FILES = 200
"""Files kept of leases that ended well."""
_IN_HISTORY = "in_history"
_NO_MARKS = str.maketrans("", "", ":-.Z")

LeaseState: TypeAlias = Literal["running", "lapsed", "orphaned", "left", "over"]
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
            raise RunError(f"{path}: cannot be written: {error.strerror}; nothing was started") from None
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

    def state_of(self, view: LeaseView) -> LeaseState:
        """Return whether a lease is in use, abandoned or over."""
        if view.ended is not None:
            return "left" if view.left else "over"
        if not self._is_owned(view.id):
            return "orphaned"
        return "running" if has_time(view) else "lapsed"

    def was_killed(self, view: LeaseView) -> bool:
        """Return whether the owner died, and guardian or recover have ended its lease."""
        return view.ended_by != "owner" and view.ended is not None and not self._is_owned(view.id)

    def keep_in_history(self, id: str, add: Callable[[], object]) -> None:
        """Call `add`, unless this or another process has done so for this lease before."""
        with self._undo_lock(id), self._opened(id) as file:
            if not any(note["event"] == _IN_HISTORY for note in self.view(id).notes):
                add()
                try_append(file, _IN_HISTORY)

    def forget(self, id: str) -> list[Undo]:
        """Give up what is left of a lease: nothing undoes it any more. Return it.

        Raises InputError if there is no such lease, or if its owner still runs; RunError if that cannot be
        written."""
        known = {view.id: view for view in self.views() if not view.is_over}
        if id not in known:
            expected = f"one of {', '.join(known)}" if known else "a lease that is not over (there is none)"
            raise InputError("lease", f"expected {expected}, got {shown(id)}")
        if self.state_of(known[id]) == "running":
            raise InputError("lease", f"expected a lease whose process has ended, got {shown(id)}")
        with self._undo_lock(id), self._opened(id) as file:
            left = self.view(id).left
            for intent in left:
                line = {"intent": intent.id, "ok": True, "message": "given up by --forget", "by": "recover"}
                if (trouble := try_append(file, "undone", **line)) is not None:
                    raise RunError(f"{id}: cannot be written: {trouble}")
            if known[id].ended is None:
                try_append(file, "ended", outcome="given up by recover", by="recover")
        return [intent.undo for intent in left]

    def undo_left(self, id: str, by: str) -> list[tuple[Undo, UndoResult]]:
        """Undo what is left of a lease, the last effect first, and write the results to its file.

        A full disk stops no undo: the result says what could not be written, and the next call tries again to
        write it. `by`: guardian or recover."""
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

    def end(self, id: str, outcome: str, by: str = "recover") -> str | None:
        """End a lease whose owner cannot. Returns why that could not be written, or None."""
        with self._opened(id) as file:
            return try_append(file, "ended", outcome=outcome, by=by)

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
