"""A child process that builds and inserts rows, so that a busy server keeps its interpreter for calls.

It is started with the first large batch. If it ends, the writer's own thread takes over: no row is lost, and
none is written twice, since inserting a row again changes nothing.
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Self, TypeAlias

from faultkit.audit.row import AuditEntry
from faultkit.audit.store import StoreRefused, StoreUnavailable
from faultkit.audit.store_factory import open_store
from faultkit.base.child_process import ChildProcess, Parent
from faultkit.base.errors import FaultkitError, RunError
from faultkit.base.garbage import undisturbed

BUSY = 250
"""Size of a batch from which the process is worth starting."""

_NICE = 5
"""Calls go before rows: where cores are scarce, the process must not take time from the server. For the same
reason it is a batch job on Linux, which does not preempt another process when it wakes up."""

RowBuilder: TypeAlias = Callable[[Any], AuditEntry]
PendingRow: TypeAlias = tuple[RowBuilder, Any]
"""A function that builds an entry, and its argument."""


def build_entries(batch: Sequence[PendingRow]) -> tuple[list[AuditEntry], list[str]]:
    """Return the entries, and the errors of those that could not be built."""
    entries: list[AuditEntry] = []
    failed: list[str] = []
    for build, source in batch:
        try:
            entries.append(build(source))
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}")
    return entries, failed


class RowProcessEnded(RunError):
    """The process has ended; it is unknown whether its last batch was written."""


class RowProcess:
    """The process of one writer, used from the writer's thread."""

    def __init__(self, where: str, build: RowBuilder) -> None:
        """`where`: name of the store. `build`: builds the entries; the process imports it by its name."""
        self._where = where
        self._build = build
        self._child: ChildProcess | None = None
        self._is_ready = False
        self._is_over = False

    def takes(self, batch: Sequence[PendingRow]) -> bool:
        """Return whether the process takes this batch; start it if the batch is large enough."""
        if self._child is None and not self._is_over and len(batch) >= BUSY:
            self._start()
        return self._is_ready and all(build is self._build for build, _ in batch)

    def append(self, batch: Sequence[PendingRow]) -> list[str]:
        """Build and insert the entries; return the errors of those that could not be built. Raises
        RowProcessEnded, StoreUnavailable or StoreRefused."""
        assert self._child is not None
        values = marshal.dumps([tuple(source) for _, source in batch])
        try:
            failed: list[str] = self._child.call("append", values)
            return failed
        except (StoreUnavailable, StoreRefused):
            raise
        except RunError as error:
            self.close()
            raise RowProcessEnded(str(error)) from None

    def close(self) -> None:
        """End the process."""
        self._is_ready, self._is_over = False, True
        if self._child is not None:
            self._child.close()

    def _start(self) -> None:
        try:
            builder = f"{self._build.__module__}:{self._build.__qualname__}"
            name = "the process that writes the audit log"
            child = ChildProcess(f"{__name__}:RowWorker", self._where, builder, name=name)
        except RunError:
            self._is_over = True
            return
        self._child = child
        threading.Thread(target=self._await_ready, args=(child,), name="audit-start", daemon=True).start()

    def _await_ready(self, child: ChildProcess) -> None:
        try:
            child.ready()
        except FaultkitError:
            # The writer gets the same error from the store, and handles it.
            self._is_over = True
        else:
            self._is_ready = not self._is_over


class RowWorker:
    """The object that runs in the child process."""

    def __init__(self, parent: Parent, where: str, builder: str) -> None:
        module, _, name = builder.partition(":")
        self._build: RowBuilder = getattr(import_module(module), name)
        self._store = open_store(where)
        self._undisturbed = undisturbed()

    def append(self, values: bytes) -> list[str]:
        """Build and insert the entries; return the errors of those that could not be built."""
        entries, failed = build_entries([(self._build, source) for source in marshal.loads(values)])
        self._store.append(entries)
        return failed

    def __enter__(self) -> Self:
        os.nice(_NICE)
        if sys.platform == "linux":
            with suppress(OSError):  # A sandbox may forbid it.
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        self._undisturbed.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._undisturbed.__exit__(None, None, None)
        self._store.close()
