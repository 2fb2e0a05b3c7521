"""A SQLite file that somebody may move away, remove, or replace, while rows are written to it.

A log in WAL mode is three files, which SQLite finds by their names. If the first of them is another one, it
would take the two others for its own, and read into it what was never written to it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TypeAlias
from urllib.parse import quote

BUSY_S = 5.0
"""How long a write waits for others that write to the same file."""
_BESIDE = ("-wal", "-shm")

_Known: TypeAlias = tuple[int, int]
"""What tells a file from all others that are there at the same time."""


class LogFile:
    def __init__(self, path: Path, again: Callable[[], None], say: Callable[[str], None]) -> None:
        """`again`: opens what is there now, or makes it, and holds it."""
        self.changes = 0
        """How often it was not the file any more that it had been."""
        self._path = path
        self._again = again
        self._say = say
        self._lock = Lock()
        self._known: _Known | None = None
        self._beside: dict[str, _Known | None] = {}
        self._kept: sqlite3.Connection | None = None
        """To the file that it was, by whatever name: others may be opened anew at any time."""

    def connect(self) -> sqlite3.Connection:
        """By a name that makes no file: one without tables would be taken for the log by whoever comes
        next."""
        if self._known is not None and _known(self._path) != self._known:
            raise sqlite3.OperationalError("unable to open database file: it is not the one that it was")
        there = f"file:{quote(str(self._path))}?mode=rw"
        return sqlite3.connect(there, uri=True, timeout=BUSY_S, check_same_thread=False)

    def hold(self) -> None:
        """The log is in this file, and ready. OSError if that is so no more."""
        self._known = _known(self._path)
        try:
            self._kept = self.connect()
            # It opens the two others with the first that it reads.
            self._kept.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            raise OSError(str(error)) from None
        self._beside = {end: _known(self._path_of(end)) for end in _BESIDE}

    def check(self) -> None:
        """Before each write."""
        with self._lock:
            now = _known(self._path)
            if now == self._known and self._kept is not None:
                return
            self._leave()
            before, self._known = self._known, None
            try:
                self._again()
            except BaseException:
                # It may yet come back.
                self._known = before
                raise
            if now != before:
                self.changes += 1
                what = "is another file now" if now is not None else "is gone, and was made anew"
                self._say(f"audit: {self._path} {what}: rows go there, and earlier ones are not in it")

    def close(self) -> None:
        with self._lock:
            if self._kept is not None:
                self._kept.close()
                self._kept = None

    def _leave(self) -> None:
        """What was written and is not in the former file yet goes there, wherever that is now."""
        if self._kept is None:
            return
        with suppress(sqlite3.Error):
            self._kept.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for end, known in self._beside.items():
            if known is not None and _known(self._path_of(end)) == known:
                self._path_of(end).unlink(missing_ok=True)
        self._kept.close()
        self._kept = None

    def _path_of(self, end: str) -> Path:
        return self._path.with_name(self._path.name + end)


def _known(path: Path) -> _Known | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
