"""Tally: everything that a run measured, in one value. Pure, and picklable.

Samples are added in chunks of any size while the run goes on. Up to `EXACT_LIMIT` requests a tally keeps each
of them; beyond that it folds them into a `HistogramRun`. The result depends neither on the order of the
chunks nor on their sizes, and the same holds for tallies that are merged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from faultkit.base.histogram import Histogram
from faultkit.load.expectation import Misses
from faultkit.load.item_figures import ItemFigures, merged
from faultkit.load.item_summary import llm_summary, mcp_summary, stream_summary
from faultkit.load.load import Load
from faultkit.load.samples import HAIR_S, Samples, Window, batches, windows
from faultkit.load.summary import (
    BATCHES,
    PARTS,
    RunEvidence,
    Summary,
    evidence_of,
    late_count,
    lateness_of,
    part_of,
    summary_of,
)

_MOST_SLOTS = 720


@dataclass(slots=True)
class Slot:
    """The response times of the requests that were to start within one slot of time."""

    answered: Histogram = field(default_factory=Histogram)
    failed: Histogram = field(default_factory=Histogram)

    def __len__(self) -> int:
        return len(self.answered) + len(self.failed)

    def merge(self, other: Slot) -> None:
        self.answered.merge(other.answered)
        self.failed.merge(other.failed)

    def response(self) -> Histogram:
        """Return the response times of all requests, answered or failed."""
        both = Histogram()
        both.merge(self.answered)
        both.merge(self.failed)
        return both


def _slots() -> defaultdict[int, Slot]:
    return defaultdict(Slot)


@dataclass(slots=True)
class HistogramRun:
    """Counters and histograms of one run."""

    failures: Counter[int] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    received_bytes: int = 0
    service: Histogram = field(default_factory=Histogram)
    parts: dict[str, Histogram] = field(default_factory=lambda: {name: Histogram() for name in PARTS})
    lateness: Histogram = field(default_factory=Histogram)
    late: int = 0
    slots: defaultdict[int, Slot] = field(default_factory=_slots)
    slot_s: int = 1
    """Length of a slot in seconds: 1, doubled as often as needed."""

    @property
    def requests(self) -> int:
        return self.failures.total()

    def add(self, samples: Samples) -> None:
        """Add a chunk of samples."""
        if not len(samples):
            return
        late_by = lateness_of(samples)
        self.failures.update(samples.failure)
        self.statuses.update(samples.status)
        self.received_bytes += sum(samples.received)
        self.service.record_all(samples.total_s)
        for name, histogram in self.parts.items():
            histogram.record_all(part_of(samples, name))
        self.lateness.record_all(late_by)
        self.late += late_count(late_by)
        self._add_slots(samples)

    def merge(self, other: HistogramRun) -> None:
        """Add all of another run."""
        self.failures.update(other.failures)
        self.statuses.update(other.statuses)
        self.received_bytes += other.received_bytes
        self.service.merge(other.service)
        for name, histogram in self.parts.items():
            histogram.merge(other.parts[name])
        self.lateness.merge(other.lateness)
        self.late += other.late
        while self.slot_s < other.slot_s:
            self._widen()
        for number, slot in other.slots.items():
            self.slots[number * other.slot_s // self.slot_s].merge(slot)
        while self.slots and max(self.slots) >= _MOST_SLOTS:
            self._widen()

    def evidence(self) -> RunEvidence:
        """Return the evidence for a summary."""
        return RunEvidence(
            failures=self.failures,
            statuses=self.statuses,
            received_bytes=self.received_bytes,
            response=_joined(list(self.slots.values())).response().times(),
            service=self.service.times(),
            parts={name: histogram.times() for name, histogram in self.parts.items()},
            lateness=self.lateness.times(),
            late=self.late,
            windows=self.windows,
            batches=self.batches(BATCHES),
            grain_s=self.slot_s,
        )

    def windows(self, width_s: float, count: int) -> list[Window]:
        """Cut the run into windows. `width_s` should be a multiple of `slot_s`, because a slot is not
        split."""
        groups: list[list[Slot]] = [[] for _ in range(count)]
        for number, slot in self.slots.items():
            groups[min(int(number * self.slot_s / width_s), count - 1)].append(slot)
        return [_window(number * width_s, group) for number, group in enumerate(groups)]

    def batches(self, count: int) -> list[Window]:
        """Return at most `count` windows with about as many requests each, as nearly as slots allow."""
        groups: dict[int, tuple[int, list[Slot]]] = {}
        before, total = 0, self.requests
        for number, slot in sorted(self.slots.items()):
            groups.setdefault(before * count // total, (number, []))[1].append(slot)
            before += len(slot)
        return [_window(number * self.slot_s, group) for number, group in groups.values()]

    def _add_slots(self, samples: Samples) -> None:
        # Wide enough from the start, so that no chunk makes more slots than there may be.
        while max(samples.intended) + HAIR_S >= _MOST_SLOTS * self.slot_s:
            self._widen()
        times: defaultdict[tuple[int, bool], list[float]] = defaultdict(list)
        for intended, time, failure in zip(
            samples.intended, samples.response_times(), samples.failure, strict=True
        ):
            times[int(intended + HAIR_S) // self.slot_s, failure != 0].append(time)
        for (number, has_failed), values in times.items():
            slot = self.slots[number]
            (slot.failed if has_failed else slot.answered).record_all(values)

    def _widen(self) -> None:
        self.slot_s *= 2
        narrow, self.slots = self.slots, _slots()
        for number, slot in narrow.items():
            self.slots[number // 2].merge(slot)


def _window(start_s: float, slots: list[Slot]) -> Window:
    slot = _joined(slots)
    response = slot.response()
    return Window(start_s, response.ordered(), slot.answered.ordered(), response.sum_s)


def _joined(slots: list[Slot]) -> Slot:
    joined = Slot()
    for slot in slots:
        joined.merge(slot)
    return joined


EXACT_LIMIT = 1_000_000
"""Requests that are kept one by one: some 70 bytes each."""


def exact_limit(load: Load) -> int:
    """Return up to how many requests of a load are kept one by one.

    The schedule of an open load shows beforehand if there will be too many. Then no worker sends a single one
    of them, and the report of several machines is that of one."""
    if load.model != "open" or load.rate_rps is None:
        return EXACT_LIMIT
    return 0 if load.rate_rps * (load.duration_s - load.ramp_s / 2) > EXACT_LIMIT else EXACT_LIMIT


_PIECE = 50_000
"""Requests folded at a time, which takes some tenths of a second."""


@dataclass(slots=True)
class Tally:
    """All measurements of a run: `add` them chunk by chunk, count `dropped`, then call `summary`."""

    dropped: int = 0
    """Arrivals that were never sent. Set by the code that adds samples; summed by `merge`."""
    samples: Samples = field(default_factory=Samples)
    """Every request, in no promised order; empty once `exact` is False."""
    histograms: HistogramRun | None = None
    limit: int = EXACT_LIMIT
    starved: int = 0
    """Those of the dropped for which this machine had no descriptor or port left."""
    lost: int | None = 0
    """Planned requests of lost workers that nothing is known about; None if the load has no schedule to count
    them by. Set by the code that adds samples; summed by `merge`."""
    misses: Misses = field(default_factory=Misses)
    """Requests that missed an expectation. Counted by the code that adds samples; summed by `merge`."""
    figures: ItemFigures | None = None
    """What only event streams and calls of MCP have."""

    @property
    def requests(self) -> int:
        return len(self.samples) if self.histograms is None else self.histograms.requests

    @property
    def exact(self) -> bool:
        return self.histograms is None

    @property
    def grain_s(self) -> float:
        """Windows are known in multiples of this only, in seconds; 0: any width."""
        return 0.0 if self.histograms is None else self.histograms.slot_s

    def add(self, samples: Samples, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Add samples, which are copied. Add each of them once.

        The one chunk that crosses the limit takes seconds; `meanwhile` is called repeatedly during that
        time."""
        self.figures = merged(self.figures, samples.figures)
        if self.histograms is None and len(self.samples) + len(samples) > self.limit:
            self._fold(meanwhile)
        if self.histograms is None:
            self.samples.extend(samples)
            self.samples.figures = None  # They are here already.
        else:
            self.histograms.add(samples)

    def merge(self, other: Tally, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Add all of another tally, which stays as it is. `meanwhile` is called as by `add`."""
        self.dropped += other.dropped
        self.starved += other.starved
        self.lost = None if self.lost is None or other.lost is None else self.lost + other.lost
        self.misses.merge(other.misses)
        self.add(replace(other.samples, figures=other.figures), meanwhile)
        if other.histograms is not None:
            self._fold(meanwhile)
            assert self.histograms is not None
            self.histograms.merge(other.histograms)

    def summary(self, load: Load | None, *, total_s: float) -> Summary:
        """Return the summary of the run. `load` is None for single calls.

        total_s: seconds from the start of the run to the end of its last request"""
        source = evidence_of(self.samples) if self.histograms is None else self.histograms.evidence()
        summary = summary_of(source, load, dropped=self.dropped, starved=self.starved, total_s=total_s)
        if self.figures is None:
            return summary
        return replace(
            summary,
            stream=stream_summary(self.figures, total_s),
            mcp=mcp_summary(self.figures),
            llm=llm_summary(self.figures, total_s),
        )

    def windows(self, width_s: float, count: int) -> list[Window]:
        """Cut the run by intended starts into `count` windows; the last one takes all that follows."""
        if self.histograms is None:
            return windows(self.samples, width_s, count)
        return self.histograms.windows(width_s, count)

    def batches(self, count: int) -> list[Window]:
        """Cut the run into at most `count` windows of about as many requests each."""
        if self.histograms is None:
            return batches(self.samples, count)
        return self.histograms.batches(count)

    def _fold(self, meanwhile: Callable[[], None]) -> None:
        if self.histograms is None:
            self.histograms = HistogramRun()
            for piece in self.samples.pieces(_PIECE):
                self.histograms.add(piece)
                meanwhile()
            self.samples = Samples()
