"""A fold: what a worker measured since the last one, in the form of a tally. Pure.

A tally holds single requests while there are few, and histograms beyond that; both merge exactly, in any
order. So a worker sends folds instead of samples, and the coordinator needs no more memory for more requests.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.load.expectation import Expectation
from faultkit.load.samples import Samples
from faultkit.load.tally import Tally


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of a worker so far."""

    started: int
    errors: int
    in_flight: int
    dropped: int
    starved: int = 0
    """Those of the dropped for which this machine had no descriptor or port left."""


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """How a worker's part ended."""

    total_s: float
    cut_short: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """The counts of a worker so far, and its measurements since its last fold.

    The dropped and starved of the tally are 0: they are among the counts."""

    counts: Counts
    tally: Tally


class Folder:
    """Folds the samples of one worker."""

    def __init__(self, expect: Expectation, limit: int) -> None:
        """`limit`: up to how many requests are kept one by one, of all folds together."""
        self._expect = expect
        self._left = limit
        self._counts = Counts(0, 0, 0, 0)
        self._tally = Tally(limit=limit)

    def add(self, counts: Counts, samples: Samples) -> None:
        """Add samples, and replace the counts."""
        self._counts = counts
        self._tally.add(samples)
        self._tally.misses.add(self._expect, samples)

    def take(self) -> Fold:
        """Return what was added since the last call."""
        taken = Fold(self._counts, self._tally)
        self._left = max(self._left - taken.tally.requests, 0)
        self._tally = Tally(limit=self._left)
        return taken


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A worker that did not finish its part, and what is known of it."""

    name: str
    at_s: float | None
    """When it was missed, in seconds from the start of the run; None: before the start."""
    why: str
    planned: int | None
    """Requests that it was to send; None for a load without a schedule."""
    measured: int
    """Requests whose results arrived; others may have been sent, too."""
    dropped: int = 0
    """Arrivals that it did not send, as far as it reported them."""

    @property
    def missing(self) -> int | None:
        """Planned requests that nothing is known about; None for a load without a schedule."""
        return None if self.planned is None else max(self.planned - self.measured - self.dropped, 0)
