"""Places where the segments of a load run: one interface, whatever starts the workers.

A place starts a worker for each segment. The coordinator (`faultkit.load.workers`) waits until all are ready,
reads their clocks, gives each the start of the run on its own clock, and merges what they send:

    start → ready → clock, a few times → run (folds, then the end) → close

A worker may be lost at any moment: then a method raises WorkerLost, and the segment is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from faultkit.load.fold import Fold, SegmentEnd
from faultkit.load.split import Segment


class SegmentWorker(Protocol):
    """The coordinator's side of one worker with one segment. Its methods are called in one thread, except
    `interrupt` and `close`."""

    @property
    def name(self) -> str:
        """Who it is, for reports: its number, and where it runs."""

    def ready(self) -> str:
        """Wait until it can begin, and return the `network_id` of its machine.

        Raises InputError if it refuses the segment."""

    def clock(self) -> float | None:
        """Read its monotonic clock now. None: it has the clock of this process."""

    def run(self, begin_at: float, on_fold: Callable[[Fold], None]) -> SegmentEnd:
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

    def start(self, segments: Sequence[Segment]) -> Sequence[SegmentWorker]:
        """Start a worker for each segment, all at once."""
