"""The worker's side of a segment on another machine: it runs the segment once and folds what it measures.

Requests are sent, and tests run, by a process of its own, so that folding and the traffic with the
coordinator make nothing late. Once a second, what came of it becomes a line of text
(`faultkit.load.part_lines`); the transport takes the lines and carries them to the coordinator.

The transport renews the lease of the segment with each word of the coordinator. If none comes for some time,
the coordinator has ended or is cut off: then the segment stops.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from faultkit.base.child_process import ChildEnded, ChildProcess
from faultkit.load.part_lines import WorkerLost
from faultkit.load.places import Machine
from faultkit.load.segment import REPORT_S
from faultkit.load.split import already_run
from faultkit.load.work import read_part, work_of

FOLD_S = 1.0
"""Seconds from one line to the next."""
LEASE_S = 15.0
"""Seconds without a word of the coordinator after which a segment stops."""
WAITING_S = 120.0
"""The same before it has begun: a worker may have to wait for others that take longer to be ready."""

_used_tokens: set[str] = set()
"""Tokens of the segments that this process has taken on."""
_taking = threading.Lock()


class SegmentHost:
    """One segment on this machine. Any thread may use it."""

    def __init__(self, written: str) -> None:
        """Take on a segment, given as JSON, and get ready to run it.

        Raises InputError if it is of another version, damaged, or was taken on before; WorkerLost if the
        process that sends has ended."""
        segment = read_part(written)
        work = work_of(segment.plan.kind)
        with _taking:
            if segment.token in _used_tokens:
                raise already_run()
            _used_tokens.add(segment.token)
        self._folder = work.folder(segment.plan)
        self._writer = work.writer(segment)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._folded_at = time.monotonic()
        self._run: threading.Thread | None = None
        self._closed = threading.Event()
        self._sender = ChildProcess(work.runner, segment, name="the sender", on_message=self._add)
        try:
            self._sender.ready()
        except ChildEnded as error:
            self._sender.close()
            raise _sender_lost(error) from None
        except BaseException:
            self._sender.close()
            raise
        self.renew_lease()
        threading.Thread(target=self._watch, name="fault-lease", daemon=True).start()

    @property
    def machine(self) -> str:
        """Where it runs, as `Machine.parse` reads it."""
        return str(Machine.here())

    def renew_lease(self) -> None:
        """Note that a word of the coordinator has come."""
        self._renewed_at = time.monotonic()

    def clock(self) -> float:
        """Return the time of this machine's monotonic clock."""
        return time.monotonic()

    def begin(self, begin_at: float) -> None:
        """Run the segment from `begin_at` on, an instant of this machine's clock. Once."""
        if self._run is not None:
            raise already_run()
        self._run = threading.Thread(target=self._send, args=(begin_at,), name="fault-segment", daemon=True)
        self._run.start()

    def take(self, wait_s: float = 0.0) -> list[str]:
        """Return the lines since the last call; wait for the first of them for some time."""
        lines = []
        try:
            lines.append(self._lines.get(timeout=wait_s) if wait_s else self._lines.get_nowait())
            while True:
                lines.append(self._lines.get_nowait())
        except queue.Empty:
            return lines

    def stop(self) -> None:
        """End the run early; what was measured is still folded."""
        self._sender.interrupt()

    def close(self) -> None:
        """End the process that sends."""
        self._closed.set()
        self._sender.close()

    def _send(self, begin_at: float) -> None:
        try:
            end = self._sender.call("run", begin_at)
            self._fold()
            self._lines.put(self._writer.end(end))
        except ChildEnded as error:
            self._fold()
            self._lines.put(self._writer.failed(_sender_lost(error), lost=True))
        except Exception as error:
            self._lines.put(self._writer.failed(error, lost=False))

    def _add(self, report: tuple[Any, ...]) -> None:
        self._folder.add(*report)
        if time.monotonic() >= self._folded_at + FOLD_S - REPORT_S / 2:  # By the report that is nearest.
            self._fold()

    def _fold(self) -> None:
        self._folded_at = time.monotonic()
        self._lines.put(self._writer.fold(self._folder.take()))

    def _watch(self) -> None:
        while not self._closed.wait(1.0):
            lease_s = WAITING_S if self._run is None else LEASE_S
            if time.monotonic() > self._renewed_at + lease_s:
                self.close()


def _sender_lost(error: ChildEnded) -> WorkerLost:
    return WorkerLost(f"its sender was lost: {error.how}")
