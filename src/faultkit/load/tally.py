"""Tally: all that a run measured, in one value. Pure, and picklable.

Samples come to it in chunks of any size, while the run goes on. Up to `EXACT_LIMIT` requests it keeps each
of them; beyond, it folds them into histograms. What comes out depends neither on the order of the chunks
nor on how the requests were cut into them, and so it is with tallies that are merged.
"""

from __future__ import annotations

from collections.abc import Callable
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
_PIECE = 50_000
"""Of so many, folding takes some tenths of a second."""


@dataclass(slots=True)
class Tally:
    """`add` what was measured, chunk by chunk, and count `dropped`; then ask for the `summary`."""

    dropped: int = 0
    """Arrivals that were never sent. Whoever adds samples sets it; `merge` sums it."""
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

    def add(self, samples: Samples, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Take in what was measured. The samples are copied; give each of them once.

        The one chunk that crosses the limit takes seconds; then `meanwhile` is called every now and again."""
        if self.folded is None and len(self.samples) + len(samples) > self.limit:
            self._fold(meanwhile)
        if self.folded is None:
            self.samples.extend(samples)
        else:
            self.folded.add(samples)

    def merge(self, other: Tally) -> None:
        """Take in all of another tally, which stays as it is."""
        self.dropped += other.dropped
        self.add(other.samples)
        if other.folded is not None:
            self._fold(lambda: None)
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

    def _fold(self, meanwhile: Callable[[], None]) -> None:
        if self.folded is None:
            self.folded = Folded()
            for piece in self.samples.pieces(_PIECE):
                self.folded.add(piece)
                meanwhile()
            self.samples = Samples()
