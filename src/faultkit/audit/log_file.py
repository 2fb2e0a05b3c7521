"""The place of the audit log: the forms of `--store`, and a SQLite file that may be moved, removed or
replaced.

A database in WAL mode is three files, which SQLite finds by name. If the main file is replaced while it is
open, SQLite would apply the WAL file of the old database to the new one and corrupt it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TypeAlias
from urllib.parse import quote

from faultkit.base.user_folders import state_folder

BUSY_S = 5.0
"""Time that a write waits for other writers of the same file."""
_BESIDE = ("-wal", "-shm")

_FileId: TypeAlias = tuple[int, int]
"""Device and inode, which identify a file while it exists."""


class LogFile:
    """Watches that the open database is still the file at its path, and opens it again if not."""

    def __init__(self, path: Path, again: Callable[[], None], say: Callable[[str], None]) -> None:
        """`again` opens or creates the database at the path and calls `hold`; `say` receives one line
        then."""
        self.changes = 0
        """Number of times that the file was replaced."""
        self._path = path
        self._again = again
        self._say = say
        self._lock = Lock()
        self._held: _FileId | None = None
        self._beside: dict[str, _FileId | None] = {}
        self._kept: sqlite3.Connection | None = None
        """Connection to the held file, whatever its name is now."""

    def connect(self) -> sqlite3.Connection:
        """Connect to the existing file. A missing one is not created here: it would have no tables."""
        if self._held is not None and _file_id(self._path) != self._held:
            raise sqlite3.OperationalError("unable to open database file: it was replaced")
        there = f"file:{quote(str(self._path))}?mode=rw"
        return sqlite3.connect(there, uri=True, timeout=BUSY_S, check_same_thread=False)

    def hold(self) -> None:
        """Remember the file at the path as the log. Raises OSError if it cannot be opened."""
        self._held = _file_id(self._path)
        try:
            self._kept = self.connect()
            # The first read opens the two other files.
            self._kept.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            raise OSError(str(error)) from None
        self._beside = {end: _file_id(self._path_of(end)) for end in _BESIDE}

    def check(self) -> None:
        """Open the file again if it was replaced. Called before each write."""
        with self._lock:
            now = _file_id(self._path)
            if now == self._held and self._kept is not None:
                return
            self._release()
            before, self._held = self._held, None
            try:
                self._again()
            except BaseException:
                # The old file may come back.
                self._held = before
                raise
            if now != before:
                self.changes += 1
                what = "was replaced" if now is not None else "was removed, and is created again"
                self._say(f"audit: {self._path} {what}: earlier rows are not in the new file")

    def close(self) -> None:
        """Close the held connection."""
        with self._lock:
            if self._kept is not None:
                self._kept.close()
                self._kept = None

    def _release(self) -> None:
        """Move the content of the WAL into the old file, wherever it is now, and remove its side files."""
        if self._kept is None:
            return
        with suppress(sqlite3.Error):
            self._kept.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for end, known in self._beside.items():
            if known is not None and _file_id(self._path_of(end)) == known:
                self._path_of(end).unlink(missing_ok=True)
        self._kept.close()
        self._kept = None

    def _path_of(self, end: str) -> Path:
        return self._path.with_name(self._path.name + end)


def _file_id(path: Path) -> _FileId | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


MEMORY = "memory:"
STORE_FORM = "a file, postgresql://USER@HOST/DATABASE or memory:"


def default_store(env: Mapping[str, str]) -> Path:
    """Return the path of the log in the user's state folder."""
    return state_folder(env) / "audit.db"
