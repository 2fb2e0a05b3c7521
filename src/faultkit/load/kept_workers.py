"""Worker processes of this machine that send one load after the other, for runs of many short loads.

To start a process takes longer than some of these loads. A worker that was interrupted or lost is not used
again: another takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from faultkit.base.child_process import ChildEnded, ChildProcess, Parent
from faultkit.load.fold import Fold, Folder, SegmentEnd
from faultkit.load.fold_lines import WorkerLost
from faultkit.load.local_workers import LocalPlace, LocalWorker, Sender
from faultkit.load.places import Machine
from faultkit.load.split import Segment
from faultkit.load.tally import exact_limit


class KeptPlace:
    """Processes of this machine, each of which is used for the segments of the same share, one by one."""

    def __init__(self, place: LocalPlace) -> None:
        self.size = place.size
        self.margin_s = place.margin_s
        self._processes: dict[int, _KeptProcess] = {}

    def __enter__(self) -> KeptPlace:
        return self

    def __exit__(self, *exc: object) -> None:
        for process in self._processes.values():
            process.child.close()

    def start(self, segments: Sequence[Segment]) -> Sequence[LocalWorker]:
        for segment in segments:
            known = self._processes.get(segment.share)
            if known is None or known.is_spent:
                if known is not None:
                    known.child.close()
                self._processes[segment.share] = _KeptProcess(segment.share, segment.of)
        return [KeptWorker(segment, self._processes[segment.share]) for segment in segments]


class _KeptProcess:
    """A process, and whether it can be used again."""

    def __init__(self, share: int, of: int) -> None:
        self.name = f"load worker {share + 1} of {of}"
        self.is_spent = False
        self.on_message: Callable[[Any], None] = lambda message: None
        self.child = ChildProcess(
            "faultkit.load.kept_workers:KeptSender",
            name=self.name,
            on_message=lambda message: self.on_message(message),
        )


class KeptWorker(LocalWorker):
    """One segment of a process that is kept."""

    def __init__(self, segment: Segment, process: _KeptProcess) -> None:
        self.name = process.name
        self._folder = Folder(segment.plan.expect, exact_limit(segment.plan.load))
        self._on_fold: Callable[[Fold], None] = lambda fold: None
        self._child = process.child
        self._segment = segment
        self._process = process
        self._is_running = False
        process.on_message = self._take

    def ready(self) -> Machine:
        try:
            self._child.call("take", self._segment)
        except ChildEnded as error:
            self._process.is_spent = True
            raise WorkerLost(error.how) from None
        return Machine.here()

    def run(self, begin_at: float, on_fold: Callable[[Fold], None]) -> SegmentEnd:
        self._is_running = True
        try:
            end = super().run(begin_at, on_fold)
        except WorkerLost:
            self._process.is_spent = True
            raise
        finally:
            self._is_running = False
        return end

    def interrupt(self) -> None:
        # The process stays interrupted.
        self._process.is_spent = True
        super().interrupt()

    def close(self) -> None:
        """End the process only if it does not end its segment."""
        if self._is_running:
            self._process.is_spent = True
            super().close()


class KeptSender:
    """The part of a kept worker that sends requests, in its process."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._sender: Sender | None = None

    def take(self, segment: Segment) -> None:
        """Prepare a segment, in place of the one before."""
        self._sender = Sender(self._parent, segment)

    def run(self, begin_at: float) -> SegmentEnd:
        """Send the segment that was taken last; see `Sender.run`."""
        assert self._sender is not None
        return self._sender.run(begin_at)
