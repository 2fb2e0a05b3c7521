"""What is being broken now, on disk: one file a lease, written and flushed before each effect.

A lease belongs to the process that opened it, which holds a lock on its file for as long as it lives: however
it dies, the lock is free then. The owner renews it; one that lapses, or whose owner is gone, is undone by its
guardian, and if that is gone as well by `fault chaos recover`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.lease_file import LeaseView, read_lease
from faultkit.chaos.processes import birth_of, this_boot
from faultkit.chaos.undo import RENEWALS, Undo, UndoResult, carry_out, renew, undo_document

USUAL_LEASE_S = 60.0
RENEWALS_A_LEASE = 4
"""How often an owner renews in the time of one lease."""
_MOST_FILES = 200
"""Of leases that ended well."""
_NO_MARKS = str.maketrans("", "", ":-.Z")

State: TypeAlias = Literal["running", "lapsed", "orphaned", "left", "over"]
"""left: it has ended, but something could not be undone."""


def default_state_dir(env: Mapping[str, str]) -> Path:
    from faultkit.audit.place import default_store

    return default_store(env).parent / "chaos"


class Ledger:
    """The folder of leases."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self._leases = state_dir / "leases"
        self._kept: dict[str, int] = {}
        """Open files of leases that are read though somebody removes them."""
        self._unwritten: dict[tuple[str, str], UndoResult] = {}
        """What was undone, by lease and intent, while nothing could be written."""

    def open(self, owner: str, lease_s: float = USUAL_LEASE_S, *, guarded: bool = True) -> Lease:
        """RunError if it cannot be written: then nothing may begin. `owner`: for people."""
        # By name they are in the order of their coming, also those of one second.
        id = f"{time_text(now_us()).translate(_NO_MARKS)}-{secrets.token_hex(4)}"
        path = self._leases / f"{id}.jsonl"
        try:
            self._leases.mkdir(mode=0o700, parents=True, exist_ok=True)
            # It may hold tokens of control APIs.
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error.strerror}; nothing was begun") from None
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):
            self._tidy()
        return Lease(id, path, file, owner, lease_s, guarded)

    def views(self) -> list[LeaseView]:
        """Oldest first."""
        return [self.view(path.stem) for path in sorted(self._leases.glob("*.jsonl"))]

    def view(self, id: str) -> LeaseView:
        try:
            with self._opened(id, os.O_RDONLY) as file:
                return read_lease(id, _lines(file))
        except FileNotFoundError:
            return LeaseView(id, ended="removed")

    def keep(self, id: str) -> None:
        """Its file stays at hand from now on, so that it can be undone though the folder is removed."""
        with contextlib.suppress(FileNotFoundError):
            self._kept[id] = os.open(self._leases / f"{id}.jsonl", os.O_RDWR | os.O_APPEND)

    def state_of(self, view: LeaseView) -> State:
        if view.ended is not None:
            return "left" if view.left else "over"
        if not self._is_held(view.id):
            return "orphaned"
        return "running" if has_time(view) else "lapsed"

    def undo_left(self, id: str, by: str) -> list[tuple[Undo, UndoResult]]:
        """Undo what is left of a lease, last first, and say so in its file. A full disk stops none of it:
        what could not be written is told in the result, and written by the next call if that can."""
        done = []
        with self._alone(id), self._opened(id) as file:
            for intent in self.view(id).left:
                result = self._unwritten.pop((id, intent.id), None) or carry_out(intent.undo)
                told = {"intent": intent.id, "ok": result.ok, "message": result.message, "by": by}
                if (trouble := _why_unwritten(file, "undone", **told)) is not None:
                    if result.ok:
                        self._unwritten[id, intent.id] = result
                    result = replace(result, message=f"{result.message} (not written down: {trouble})")
                done.append((intent.undo, result))
        return done

    def end(self, id: str, outcome: str) -> str | None:
        """For a lease whose owner cannot. Why it could not be written, if so."""
        with self._opened(id) as file:
            return _why_unwritten(file, "ended", outcome=outcome)

    @contextlib.contextmanager
    def _opened(self, id: str, how: int = os.O_RDWR | os.O_APPEND) -> Iterator[int]:
        if id in self._kept:
            yield self._kept[id]
            return
        file = os.open(self._leases / f"{id}.jsonl", how)
        try:
            yield file
        finally:
            os.close(file)

    def _is_held(self, id: str) -> bool:
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
    def _alone(self, id: str) -> Iterator[None]:
        """Guardian and recover do not undo the same thing side by side."""
        file = self._lock_file(id)
        try:
            if file is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            if file is not None:
                os.close(file)

    def _lock_file(self, id: str) -> int | None:
        """The folder itself where a full disk has no room for another file; none where that is gone too."""
        with contextlib.suppress(OSError):
            return os.open(self._leases / f"{id}.undoing", os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):
            return os.open(self._leases, os.O_RDONLY)
        return None

    def _tidy(self) -> None:
        for path in sorted(self._leases.glob("*.jsonl"))[:-_MOST_FILES]:
            if self.view(path.stem).is_over:
                path.unlink(missing_ok=True)
                path.with_suffix(".undoing").unlink(missing_ok=True)


def has_time(view: LeaseView) -> bool:
    return view.boot == this_boot() and time.monotonic() < view.until_s


class Lease:
    """The owner's side. Any thread may use it."""

    def __init__(self, id: str, path: Path, file: int, owner: str, lease_s: float, guarded: bool) -> None:
        self.id = id
        self.owner = owner
        self.lease_s = lease_s
        self.trouble = ""
        """Why the file could not be written any more. What was begun is still undone."""
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
                boot=this_boot(),
                lease_s=lease_s,
                until_s=self._until_s,
            )
        except RunError:
            # Nothing has begun, and half a line would be found as somebody's crash.
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
        """Call it before the effect. RunError: it could not be written down, and the effect must not be."""
        with self._lock:
            if not self._is_open or self.has_lapsed:
                raise RunError(f"the lease of {self.owner} is over: nothing may begin under it any more")
            self._count += 1
            id = str(self._count)
            self._must_write("intended", intent=id, undo=undo_document(undo))
            self._left[id] = undo
        self.watch()
        return id

    def done(self, intent: str, result: UndoResult, by: str = "owner") -> None:
        """The effect was taken back, or could not be."""
        with self._lock:
            self._try_write("undone", intent=intent, ok=result.ok, message=result.message, by=by)
            if result.ok:
                self._left.pop(intent, None)

    def undo(self, intent: str) -> UndoResult:
        """Take one effect back. It blocks, up to the limit of the undo."""
        undo = self._left.get(intent)
        if undo is None:
            return UndoResult(True, "it was undone already")
        result = carry_out(undo)
        self.done(intent, result)
        return result

    def undo_all(self) -> list[tuple[Undo, UndoResult]]:
        """Everything that is left, last first; one that fails does not stop the others."""
        return [(self._left[id], self.undo(id)) for id in sorted(self._left, key=int, reverse=True)]

    @property
    def left(self) -> tuple[Undo, ...]:
        return tuple(self._left[id] for id in sorted(self._left, key=int, reverse=True))

    def note(self, event: str, **data: Any) -> None:
        """Something that happened, for whoever reads the file after a crash."""
        with self._lock:
            self._try_write(event, **data)

    def renew(self) -> bool:
        """False: it has lapsed, and what it began is being undone by others. Its owner must stop."""
        with self._lock:
            if self.has_lapsed or not self._is_open or self._was_ended_by_others():
                return False
            until_s = time.monotonic() + self.lease_s
            # Not longer than the file says: the guardian reads that one.
            if not self._try_write("renewed", until_s=until_s):
                return True
            self._until_s = until_s
            left = tuple(self._left.values())
        self.watch()
        if any(undo.kind in RENEWALS for undo in left):
            # Not here: others may be slow to answer, and whoever renews must not be held up.
            threading.Thread(target=self._keep, args=(left,), name="fault-renewal", daemon=True).start()
        return True

    def _keep(self, left: tuple[Undo, ...]) -> None:
        for undo in left:
            renew(undo, self.lease_s)

    def watch(self) -> None:
        """A guardian that has died is replaced. Call it now and then."""
        if self._is_open and self._guardian is not None and self._guardian.poll() is not None:
            assert self._guardian.stdin is not None
            self._guardian.stdin.close()
            self._guardian = _start_guardian(self._path)

    def end(self, outcome: str) -> None:
        """What could not be undone stays in the file, for `fault chaos recover`."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
            if not self._try_write("ended", outcome=outcome) and not self._left:
                # All is undone, though the file cannot say so: nobody is to undo it again.
                self._discard()
        if self._guardian is not None:
            assert self._guardian.stdin is not None
            with contextlib.suppress(OSError):
                self._guardian.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guardian.wait(_GUARDIAN_ENDS_S)
        os.close(self._file)

    def _was_ended_by_others(self) -> bool:
        """By the file that is open here: the one in the folder may have been removed."""
        try:
            return read_lease(self.id, _lines(self._file)).ended is not None
        except OSError as error:
            self.trouble = f"{self._path.name}: {error}"
            return False

    def _must_write(self, event: str, **data: Any) -> None:
        trouble = _why_unwritten(self._file, event, **data)
        if trouble is not None:
            self.trouble = f"{self._path.name}: {trouble}"
            raise RunError(f"what is to be undone cannot be written down ({self.trouble})")

    def _try_write(self, event: str, **data: Any) -> bool:
        trouble = _why_unwritten(self._file, event, **data)
        if trouble is not None:
            self.trouble = f"{self._path.name}: {trouble}"
        return trouble is None

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()


_GUARDIAN_ENDS_S = 5.0


def _lines(file: int) -> list[str]:
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace").splitlines()


def _why_unwritten(file: int, event: str, **data: Any) -> str | None:
    """None: it is on disk, where others find it."""
    try:
        _write(file, event, **data)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.fstat(file).st_nlink else "the file was removed"


def _write(file: int, event: str, **data: Any) -> None:
    """On disk when it returns. A line that a crash or a full disk has torn must not swallow the next one."""
    line = json.dumps({"at": time_text(now_us()), "event": event, **data}, ensure_ascii=False) + "\n"
    size = os.fstat(file).st_size
    is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    raw = ("\n" if is_torn else "").encode() + line.encode("utf-8", "replace")
    if os.write(file, raw) < len(raw):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def _start_guardian(path: Path) -> subprocess.Popen[bytes]:
    folders = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return subprocess.Popen(
        # -P: a file in the current folder must not stand in for a module of ours.
        [sys.executable, "-P", "-m", "faultkit.chaos.guardian", str(path.parent.parent), path.stem],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": folders},
    )
