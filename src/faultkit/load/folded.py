"""Folded: a run that is too long to keep each request, as histograms and counters. Pure, and picklable.

Memory does not grow with the run: the time axis has at most `_MOST_SLOTS` slots, and when that is too
few, neighbours become one. A merge is exact, so its order does not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from faultkit.base.histogram import Histogram
from faultkit.load.dependence import BATCHES
from faultkit.load.evidence import PARTS, Evidence, late_count, lateness_of, part_of
from faultkit.load.samples import Samples
from faultkit.load.stretch import HAIR_S, Stretch

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
        whole = Histogram()
        whole.merge(self.answered)
        whole.merge(self.failed)
        return whole


def _slots() -> defaultdict[int, Slot]:
    return defaultdict(Slot)


def _parts() -> dict[str, Histogram]:
    return {name: Histogram() for name in PARTS}


@dataclass(slots=True)
class Folded:
    failures: Counter[int] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    received_bytes: int = 0
    service: Histogram = field(default_factory=Histogram)
    parts: dict[str, Histogram] = field(default_factory=_parts)
    lateness: Histogram = field(default_factory=Histogram)
    late: int = 0
    slots: defaultdict[int, Slot] = field(default_factory=_slots)
    slot_s: int = 1
    """How long a slot is: a second, or twice that as often as needed."""

    @property
    def requests(self) -> int:
        return self.failures.total()

    def add(self, samples: Samples) -> None:
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

    def merge(self, other: Folded) -> None:
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
        self._keep_few_slots()

    def evidence(self) -> Evidence:
        return Evidence(
            failures=self.failures,
            statuses=self.statuses,
            received_bytes=self.received_bytes,
            response=_joined(list(self.slots.values())).response().times(),
            service=self.service.times(),
            parts={name: histogram.times() for name, histogram in self.parts.items()},
            lateness=self.lateness.times(),
            late=self.late,
            stretches=self.stretches,
            batches=self.batches(BATCHES),
            grain_s=self.slot_s,
        )

    def stretches(self, width_s: float, count: int) -> list[Stretch]:
        """`width_s` had better be a multiple of `slot_s`: a slot is not split."""
        groups: list[list[Slot]] = [[] for _ in range(count)]
        for number, slot in self.slots.items():
            groups[min(int(number * self.slot_s / width_s), count - 1)].append(slot)
        return [_stretch(number * width_s, group) for number, group in enumerate(groups)]

    def batches(self, count: int) -> list[Stretch]:
        """At most `count` stretches with about as many requests each, as nearly as whole slots allow."""
        groups: dict[int, tuple[int, list[Slot]]] = {}
        before, total = 0, self.requests
        for number, slot in sorted(self.slots.items()):
            groups.setdefault(before * count // total, (number, []))[1].append(slot)
            before += len(slot)
        return [_stretch(number * self.slot_s, group) for number, group in groups.values()]

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

    def _keep_few_slots(self) -> None:
        while self.slots and max(self.slots) >= _MOST_SLOTS:
            self._widen()

    def _widen(self) -> None:
        self.slot_s *= 2
        narrow, self.slots = self.slots, _slots()
        for number, slot in narrow.items():
            self.slots[number // 2].merge(slot)


def _stretch(start_s: float, slots: list[Slot]) -> Stretch:
    slot = _joined(slots)
    response = slot.response()
    return Stretch(start_s, response.ordered(), slot.answered.ordered(), response.sum_s)


def _joined(slots: list[Slot]) -> Slot:
    whole = Slot()
    for slot in slots:
        whole.merge(slot)
    return whole
