"""A file that is locked while an index is in use, so that one process at a time opens it.

The operating system releases the lock when its holder ends in any way, so that no lock is stale. The
process id in the file is for the error message of the next process.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from faultkit.base.errors import RunError

_PAUSE_S = 0.05


class IndexLock:
    """A lock that is held from its creation until `close`, or until the process ends."""

    def __init__(self, path: Path, wait_s: float, what: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + wait_s
        while not self._try_lock():
            if time.monotonic() >= until:
                holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip() or "another"
                os.close(self._file)
                raise RunError(
                    f"{what} is in use by process {holder}: try again when that has ended, or choose "
                    "another folder for the index"
                )
            time.sleep(_PAUSE_S)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Release the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
