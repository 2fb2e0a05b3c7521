"""The last reports of a server, kept in memory: a bounded store that any thread may use."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

MOST_REPORTS = 20


@dataclass(frozen=True, slots=True)
class StoredReport:
    id: str
    """`1`, `2`, …: in the order in which they came; never used again."""
    title: str
    markdown: str
    document: dict[str, Any]
    """The same as JSON."""


class Reports:
    def __init__(self, most: int = MOST_REPORTS) -> None:
        self._most = most
        self._count = 0
        self._kept: dict[str, StoredReport] = {}
        self._lock = threading.Lock()

    def add(self, title: str, markdown: str, document: dict[str, Any]) -> StoredReport:
        """Keeps it, and lets the oldest go if there are too many."""
        with self._lock:
            self._count += 1
            stored = StoredReport(str(self._count), title, markdown, document)
            self._kept[stored.id] = stored
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
            return stored

    def get(self, id: str) -> StoredReport | None:
        with self._lock:
            return self._kept.get(id)

    def all(self) -> tuple[StoredReport, ...]:
        """The newest first."""
        with self._lock:
            return tuple(reversed(self._kept.values()))
