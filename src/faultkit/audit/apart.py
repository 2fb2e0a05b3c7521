"""Rows that are made and written in a process of their own: a busy server has its interpreter for calls.

It is started when there is much to write, and not before: a server that nobody hurries does without. Should
it end, rows are made and written here again; none is lost by that, and none is written twice.
"""

from __future__ import annotations

import marshal
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Self, TypeAlias

from faultkit.audit.opening import open_store
from faultkit.audit.row import Entry
from faultkit.audit.store import StoreAway, StoreRefused
from faultkit.base.child_process import ChildProcess, Parent
from faultkit.base.errors import FaultkitError, RunError

BUSY = 250
"""Rows of one batch: from so many on, the process is worth its start."""

Make: TypeAlias = Callable[[Any], Entry]
Unmade: TypeAlias = tuple[Make, Any]
"""What makes a row, and what it makes it of."""


def made(batch: Sequence[Unmade]) -> tuple[list[Entry], list[str]]:
    """The rows, and why there is none of the others: one must not take the others with it."""
    entries: list[Entry] = []
    missed: list[str] = []
    for make, known in batch:
        try:
            entries.append(make(known))
        except Exception as error:
            missed.append(f"{type(error).__name__}: {error}")
    return entries, missed


class Gone(RunError):
    """The process has ended."""


class Apart:
    """For the thread of one writer."""

    def __init__(self, where: str, make: Make) -> None:
        """`where`: names the store. `make`: of the rows that it makes; it is found again by its name."""
        self._where = where
        self._make = make
        self._child: ChildProcess | None = None
        self._is_ready = False
        self._is_over = False

    def takes(self, batch: Sequence[Unmade]) -> bool:
        """Whether to give it this one. While it starts, it takes none."""
        if self._child is None and not self._is_over and len(batch) >= BUSY:
            self._start()
        return self._is_ready and all(make is self._make for make, _ in batch)

    def append(self, batch: Sequence[Unmade]) -> list[str]:
        """As the store's, of rows that are still to be made; returns why there is none of some. Gone: nobody
        knows whether they were written."""
        assert self._child is not None
        values = marshal.dumps([tuple(known) for _, known in batch])
        try:
            missed: list[str] = self._child.call("append", values)
            return missed
        except (StoreAway, StoreRefused):
            raise
        except RunError as error:
            self.close()
            raise Gone(str(error)) from None

    def close(self) -> None:
        self._is_ready, self._is_over = False, True
        if self._child is not None:
            self._child.close()

    def _start(self) -> None:
        try:
            make = f"{self._make.__module__}:{self._make.__qualname__}"
            name = "the process that writes the audit log"
            child = ChildProcess(f"{__name__}:Rows", self._where, make, name=name)
        except RunError:
            self._is_over = True
            return
        self._child = child
        threading.Thread(target=self._await, args=(child,), name="audit-start", daemon=True).start()

    def _await(self, child: ChildProcess) -> None:
        try:
            child.ready()
        except FaultkitError:
            # Whatever it is: the writer meets it as well, and deals with it.
            self._is_over = True
        else:
            self._is_ready = not self._is_over


class Rows:
    """What the process serves."""

    def __init__(self, parent: Parent, where: str, make: str) -> None:
        module, _, name = make.partition(":")
        self._make: Make = getattr(import_module(module), name)
        self._store = open_store(where)

    def append(self, values: bytes) -> list[str]:
        entries, missed = made([(self._make, known) for known in marshal.loads(values)])
        self._store.append(entries)
        return missed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._store.close()
