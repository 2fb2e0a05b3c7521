"""What a load measures beyond requests: events and tokens of streams, outcomes of MCP calls. Pure.

Everything is counts and histograms in slots of time, so figures of several workers merge without loss, in any
order, and their size does not grow with the number of events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from faultkit.base.histogram import Histogram

FigureKind: TypeAlias = Literal["stream", "mcp", "llm"]
SlotTimes: TypeAlias = Literal["first_event", "no_event", "gaps", "token_time"]
"""The histograms of a slot."""
_MOST_SLOTS = 720
_HAIR_S = 1e-6
"""Times this close before an edge count as on it."""


@dataclass(slots=True)
class FigureSlot:
    """The figures of one slot of time."""

    failures: Counter[int] = field(default_factory=Counter)
    """Requests by number of `Failure`, 0 (none) included; by their intended starts."""
    begun: int = 0
    """Streams of which the head came: a success, and an event stream; by their intended starts."""
    early_ends: int = 0
    """Streams that had begun and ended before they were complete; by their intended starts."""
    first_event: Histogram = field(default_factory=Histogram)
    """Times from the intended start to the first event."""
    no_event: Histogram = field(default_factory=Histogram)
    """Times from the intended start to the end, of streams without an event."""
    gaps: Histogram = field(default_factory=Histogram)
    """Times between two events of a stream; by the second of the two."""
    refusals: int = 0
    """Requests to a model that its provider answered with an error; by their intended starts."""
    token_time: Histogram = field(default_factory=Histogram)
    """Mean times of one token, an answer of a model each; by their intended starts."""

    def merge(self, other: FigureSlot) -> None:
        self.failures.update(other.failures)
        self.begun += other.begun
        self.early_ends += other.early_ends
        self.first_event.merge(other.first_event)
        self.no_event.merge(other.no_event)
        self.gaps.merge(other.gaps)
        self.refusals += other.refusals
        self.token_time.merge(other.token_time)


def _slots() -> defaultdict[int, FigureSlot]:
    return defaultdict(FigureSlot)


@dataclass(slots=True)
class ItemFigures:
    """The figures of a run, or of a part of it."""

    kind: FigureKind
    slots: defaultdict[int, FigureSlot] = field(default_factory=_slots)
    slot_s: int = 1
    """Length of a slot in seconds: 1, doubled as often as needed."""
    events: int = 0
    sessions: int = 0
    """Sessions that were opened."""
    restarts: int = 0
    """Sessions among them that replace one that was lost."""
    tokens: int = 0
    """Tokens of the answers of models."""

    def slot_at(self, at_s: float) -> FigureSlot:
        """Return the slot of an instant, counted from the start of the run."""
        number = max(int(at_s + _HAIR_S), 0)
        while number // self.slot_s >= _MOST_SLOTS:
            self._widen()
        return self.slots[number // self.slot_s]

    def merge(self, other: ItemFigures) -> None:
        """Add all of another part."""
        self.events += other.events
        self.sessions += other.sessions
        self.restarts += other.restarts
        self.tokens += other.tokens
        while self.slot_s < other.slot_s:
            self._widen()
        for number, slot in other.slots.items():
            self.slots[number * other.slot_s // self.slot_s].merge(slot)
        while self.slots and max(self.slots) >= _MOST_SLOTS:
            self._widen()

    def total(self) -> FigureSlot:
        """Return the figures of all slots as one."""
        whole = FigureSlot()
        for slot in self.slots.values():
            whole.merge(slot)
        return whole

    def grouped(self, width_s: float, count: int) -> list[FigureSlot]:
        """Return `count` slots of this width; the last takes all that follows. A slot is not split."""
        groups = [FigureSlot() for _ in range(count)]
        for number, slot in self.slots.items():
            groups[min(int((number * self.slot_s + _HAIR_S) / width_s), count - 1)].merge(slot)
        return groups

    def _widen(self) -> None:
        self.slot_s *= 2
        narrow, self.slots = self.slots, _slots()
        for number, slot in narrow.items():
            self.slots[number // 2].merge(slot)


class FigureRecorder:
    """The figures that are being filled. Its instants are those of a clock; slots count from `begin_at`."""

    def __init__(self, kind: FigureKind, begin_at: float) -> None:
        self.begin_at = begin_at
        self.figures = ItemFigures(kind)
        self._times: defaultdict[tuple[SlotTimes, int], list[float]] = defaultdict(list)
        """Times by the histogram and the second of the run that they belong to: a histogram counts many at a
        time best."""

    def slot_at(self, instant: float) -> FigureSlot:
        """Return the slot of an instant."""
        return self.figures.slot_at(instant - self.begin_at)

    def add_time(self, name: SlotTimes, instant: float, seconds: float) -> None:
        """Add a time that belongs to the slot of an instant."""
        self._times[name, int(instant - self.begin_at + _HAIR_S)].append(seconds)

    def take(self) -> ItemFigures:
        """Return the figures since the last call."""
        for (name, second), times_s in self._times.items():
            getattr(self.figures.slot_at(second), name).record_all(times_s)
        self._times.clear()
        taken, self.figures = self.figures, ItemFigures(self.figures.kind)
        return taken


def merged(one: ItemFigures | None, other: ItemFigures | None) -> ItemFigures | None:
    """Return `one` with all of `other`, which stays as it is. Either may be missing."""
    if other is not None:
        one = one or ItemFigures(other.kind)
        one.merge(other)
    return one
