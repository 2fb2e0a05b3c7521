"""Tally: all that a run measured, in one value that workers fill, send and merge. Pure, and picklable.

A worker appends to `Samples`, and every so often gives them to its tally and starts new ones. Up to
`EXACT_LIMIT` requests the tally keeps each of them; beyond, it folds them into histograms. What
comes out depends neither on the order of merging nor on how the requests were cut into chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from faultkit.load.evidence import evidence_of
from faultkit.load.folded import Folded
from faultkit.load.load import Load
from faultkit.load.samples import Samples
from faultkit.load.stretch import Stretch, stretches
from faultkit.load.summarize import summary_of
from faultkit.load.summary import Summary

EXACT_LIMIT = 1_000_000
"""Requests that are kept one by one: some 70 bytes each."""


@dataclass(slots=True)
class Tally:
    """In each worker: `add` chunks (about 50,000 samples each, and the rest at the end), count `dropped`.
    Then, in one place: `merge` them all into one, and ask it for its `summary`."""

    dropped: int = 0
    """Arrivals that were never sent. The engine adds to it; `merge` sums it."""
    samples: Samples = field(default_factory=Samples)
    """Every request, in no promised order; empty once `exact` is False."""
    folded: Folded | None = None
    limit: int = EXACT_LIMIT

    @property
    def requests(self) -> int:
        return len(self.samples) if self.folded is None else self.folded.requests

    @property
    def exact(self) -> bool:
        return self.folded is None

    @property
    def grain_s(self) -> float:
        """Stretches are known in multiples of this only; 0: whatever is asked."""
        return 0.0 if self.folded is None else self.folded.slot_s

    def add(self, samples: Samples) -> None:
        """Take in what was measured. The samples are copied; give each of them once."""
        if self.folded is None and len(self.samples) + len(samples) > self.limit:
            self._fold()
        if self.folded is None:
            self.samples.extend(samples)
        else:
            self.folded.add(samples)

    def merge(self, other: Tally) -> None:
        """Take in all of another tally, which stays as it is."""
        self.dropped += other.dropped
        self.add(other.samples)
        if other.folded is not None:
            self._fold()
            assert self.folded is not None
            self.folded.merge(other.folded)

    def summary(self, load: Load | None, *, total_s: float) -> Summary:
        """`total_s`: from the start of the run to the end of its last request. No load: single calls."""
        source = evidence_of(self.samples) if self.folded is None else self.folded.evidence()
        return summary_of(source, load, dropped=self.dropped, total_s=total_s)

    def stretches(self, width_s: float, count: int) -> list[Stretch]:
        """The run cut by intended starts into `count` stretches; the last one takes all that follows."""
        if self.folded is None:
            return stretches(self.samples, width_s, count)
        return self.folded.stretches(width_s, count)

    def _fold(self) -> None:
        if self.folded is None:
            self.folded = Folded()
            self.folded.add(self.samples)
            self.samples = Samples()
