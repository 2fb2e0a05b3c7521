"""The cache of a review: what was found in a file is kept until the file or Faultkit changes.

One SQLite file in the user's cache folder. A row is found by a digest of everything that its content depends
on: the bytes of the file, its path in the project, the facts of its manifest, the rules, and the program
itself. A cache that cannot be read or written is not used; it never makes a review fail.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from importlib import metadata
from pathlib import Path

import faultkit
from faultkit.base.times import now_us
from faultkit.base.user_folders import cache_folder
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.review_files import FileToReview
from faultkit.code.rules.rule import Rule

_SCHEMA = "CREATE TABLE IF NOT EXISTS reviews (key BLOB PRIMARY KEY, day INTEGER, text TEXT) WITHOUT ROWID"
_KEPT_DAYS = 30
"""Rows that no review has used for so long are deleted."""
_DAY_US = 86_400 * 1_000_000
_WRITTEN_TOGETHER = 500
_CODE = Path(__file__).parents[1]


class ReviewCache:
    """What was found in files, by everything that it depends on."""

    def __init__(self, connection: sqlite3.Connection, rules: Iterable[Rule]) -> None:
        self._connection = connection
        self._base = _digest_of_program() + ",".join(rule.id for rule in rules).encode()
        self._today = now_us() // _DAY_US
        self._new: list[tuple[bytes, int, str]] = []
        self._used: list[bytes] = []

    def key(self, wanted: FileToReview, data: bytes) -> bytes:
        """Return the key of a file with this content."""
        language = "" if wanted.language is None else wanted.language.name
        known = (language, wanted.relative, wanted.context or "", *sorted(wanted.include))
        digest = blake2b(self._base, digest_size=20)
        for part in known:
            digest.update(b"\0" + part.encode("utf-8", "surrogateescape"))
        digest.update(b"\0" + wanted.project.digest)
        digest.update(b"\0\0" + data)
        return digest.digest()

    def get(self, key: bytes) -> str | None:
        """Return the stored text, or None."""
        with suppress(sqlite3.Error):
            row = self._connection.execute("SELECT text, day FROM reviews WHERE key = ?", (key,)).fetchone()
            if row is not None:
                if row[1] != self._today:
                    self._used.append(key)
                return str(row[0])
        return None

    def put(self, key: bytes, text: str) -> None:
        """Keep a text; it is written with others."""
        self._new.append((key, self._today, text))
        if len(self._new) >= _WRITTEN_TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what is new."""
        with suppress(sqlite3.Error), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO reviews VALUES (?, ?, ?)", self._new)
            self._connection.executemany(
                "UPDATE reviews SET day = ? WHERE key = ?", [(self._today, key) for key in self._used]
            )
        self._new, self._used = [], []

    def tidy(self) -> None:
        """Delete what has not been used for long."""
        with suppress(sqlite3.Error), self._connection:
            self._connection.execute("DELETE FROM reviews WHERE day < ?", (self._today - _KEPT_DAYS,))


@contextmanager
def open_cache(rules: Iterable[Rule], env: Mapping[str, str] = os.environ) -> Iterator[ReviewCache | None]:
    """Open the user's cache; None if that is not possible. What is new is written at the end."""
    path = cache_folder(env) / "review.sqlite"
    try:
        connection = _connect(path)
    except (OSError, sqlite3.Error):
        yield None
        return
    cache = ReviewCache(connection, rules)
    try:
        yield cache
    finally:
        cache.flush()
        cache.tidy()
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return _connection(path)
    except sqlite3.DatabaseError:
        # A damaged file, or one of something else: the cache can be made again.
        path.unlink(missing_ok=True)
        return _connection(path)


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=2.0)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A row that is lost with the power is found again.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _digest_of_program() -> bytes:
    """Return what changes with Faultkit's code and with the grammars that it parses by."""
    digest = blake2b(faultkit.__version__.encode(), digest_size=20)
    for path in sorted(_CODE.rglob("*.py")):
        state = path.stat()
        digest.update(f"{path.relative_to(_CODE)}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    for wheel in sorted({"tree-sitter", *(language.wheel for language in LANGUAGES.values())}):
        with suppress(metadata.PackageNotFoundError):
            digest.update(f"{wheel}=={metadata.version(wheel)}\0".encode())
    return digest.digest()
