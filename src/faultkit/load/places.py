"""Places where the segments of a load, or of suites, run: one interface, whatever starts the workers.

A place starts a worker for each segment. The coordinator (`faultkit.load.workers`) waits until all are ready,
reads their clocks, gives each the start of the run on its own clock, and merges what they send:

    start → ready → clock, a few times → run (folds, then the end) → close

A worker may be lost at any moment: then a method raises WorkerLost, and the segment is not run again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from faultkit.base.process_identity import boot_id
from faultkit.load.fold import SegmentEnd
from faultkit.load.split import Part


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a worker runs, as far as others can share something with it."""

    clock: str
    """The same for all processes that have one monotonic clock."""
    network: str
    """The same for all processes that reach each other by 127.0.0.1."""

    def __str__(self) -> str:
        return f"{self.clock} {self.network}"

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Return the machine of such a text."""
        clock, _, network = text.partition(" ")
        return cls(clock, network)

    @classmethod
    def here(cls) -> Machine:
        """Return that of this process."""
        boot = boot_id()
        return cls(f"{boot}/{_namespace('time')}", f"{boot}/{_namespace('net')}")


def _namespace(kind: str) -> str:
    with contextlib.suppress(OSError):  # Linux only: elsewhere, a machine has one of each.
        return str(Path(f"/proc/self/ns/{kind}").stat().st_ino)
    return ""


class SegmentWorker(Protocol):
    """The coordinator's side of one worker with one segment. Its methods are called in one thread, except
    `interrupt` and `close`."""

    @property
    def name(self) -> str:
        """Who it is, for reports: its number, and where it runs."""

    def ready(self) -> Machine:
        """Wait until it can begin, and return where it runs. Raises InputError if it refuses the segment."""

    def clock(self) -> float:
        """Read its monotonic clock now. Not called if it has the clock of this process."""

    def run(self, begin_at: float, on_fold: Callable[[Any], None]) -> SegmentEnd:
        """Run the segment from `begin_at` on, an instant of its own clock. `on_fold` is called in this
        thread. A RunError that is no WorkerLost is a defect, and ends the whole run."""

    def interrupt(self) -> None:
        """Ask it to stop early; `run` then returns soon."""

    def close(self) -> None:
        """End it. A `run` under way in another thread fails soon."""


class Place(Protocol):
    """Where segments run."""

    @property
    def size(self) -> int:
        """How many workers there are."""

    @property
    def margin_s(self) -> float:
        """Seconds from the readiness of all workers to the start of the run, so that all know it in time."""

    def start(self, segments: Sequence[Part[Any]]) -> Sequence[SegmentWorker]:
        """Start a worker for each segment, all at once."""
