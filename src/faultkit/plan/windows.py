"""Windows: a schedule on a concrete time line, answering what holds at an instant.

Time is counted in whole microseconds since the run began, so that periods which touch do touch and
repeats never drift. After `steady_us` the line repeats itself each `cycle_us`, which is why repeats
without end need no memory and no bookkeeping. It knows no text and no percentages.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_INTERVALS = 100_000


def to_us(seconds: float) -> int:
    """Convert seconds to whole microseconds."""
    return round(seconds * 1_000_000)


@dataclass(frozen=True, slots=True)
class Wave:
    """Active in [start, start + duration), and again each `every_us`. None means without end."""

    start_us: int = 0
    duration_us: int | None = None
    every_us: int | None = None
    times: int | None = None

    def intervals(self, horizon_us: int) -> Iterator[tuple[int, int]]:
        """Return the intervals that begin up to the horizon. Only for waves with a duration."""
        assert self.duration_us is not None
        for turn in range(self.turns(horizon_us)):
            begin_us = self.start_us + turn * (self.every_us or 0)
            yield begin_us, begin_us + self.duration_us

    def turns(self, horizon_us: int) -> int:
        if self.start_us > horizon_us:
            return 0
        if self.every_us is None:
            return 1
        turns = (horizon_us - self.start_us) // self.every_us + 1
        return turns if self.times is None else min(turns, self.times)

    @property
    def repeats_forever(self) -> bool:
        return self.every_us is not None and self.times is None

    @property
    def settled_us(self) -> int:
        """Time from which on the line is inactive for good or repeats regularly."""
        if self.duration_us is None or self.repeats_forever:
            return self.start_us
        return self.start_us + ((self.times or 1) - 1) * (self.every_us or 0) + self.duration_us


@dataclass(frozen=True, slots=True)
class Windows:
    """When a rule is active: an alternating list of instants at which it goes on and off."""

    edges_us: tuple[int, ...] = (0,)
    """On, off, on … up to `steady_us + cycle_us`."""
    steady_us: int = 0
    cycle_us: int = 0
    """The edges after `steady_us` come again each `cycle_us`; 0 if there are none."""

    def active(self, t: float) -> bool:
        return self._edges_until(t) % 2 == 1

    def activation(self, t: float) -> int:
        """Return how many times it has become active up to and including `t`."""
        return (self._edges_until(t) + 1) // 2

    def next_change(self, t: float) -> float:
        """Return the first time after `t` at which `active` changes; infinite if there is none."""
        folded_us, turns = self._fold(t)
        index = bisect_right(self.edges_us, folded_us)
        if index < len(self.edges_us):
            return (self.edges_us[index] + turns * self.cycle_us) / 1_000_000
        if self.cycle_us == 0:
            return math.inf
        first = self.edges_us[bisect_right(self.edges_us, self.steady_us)]
        return (first + (turns + 1) * self.cycle_us) / 1_000_000

    def _fold(self, t: float) -> tuple[int, int]:
        """Return the time within the listed edges that corresponds to `t`, and the cycles between the two."""
        now_us = to_us(t)
        if self.cycle_us == 0 or now_us <= self.steady_us + self.cycle_us:
            return now_us, 0
        turns = (now_us - self.steady_us - 1) // self.cycle_us
        return now_us - turns * self.cycle_us, turns

    def _edges_until(self, t: float) -> int:
        folded_us, turns = self._fold(t)
        listed = bisect_right(self.edges_us, folded_us)
        if turns == 0:
            return listed
        return listed + turns * (len(self.edges_us) - bisect_right(self.edges_us, self.steady_us))


ALWAYS = Windows()


def merge(waves: Iterable[Wave]) -> Windows:
    """Return the union of waves. Raises ValueError if it would take too many intervals to write down."""
    joined = [_without_gaps(wave) for wave in waves]
    endless_us = min((wave.start_us for wave in joined if wave.duration_us is None), default=None)
    bounded = [wave for wave in joined if wave.duration_us is not None]
    if endless_us is not None:
        steady_us, cycle_us = endless_us, 0
    else:
        steady_us = max((wave.settled_us for wave in bounded), default=0)
        beats = [wave.every_us for wave in bounded if wave.repeats_forever and wave.every_us is not None]
        cycle_us = math.lcm(*beats) if beats else 0
    horizon_us = steady_us + cycle_us
    if sum(wave.turns(horizon_us) for wave in bounded) > MOST_INTERVALS:
        raise ValueError(f"expected at most {MOST_INTERVALS} separate intervals, got more: repeat less often")

    intervals = sorted(interval for wave in bounded for interval in wave.intervals(horizon_us))
    edges_us: list[int] = []
    for begin_us, end_us in intervals:
        if edges_us and begin_us <= edges_us[-1]:
            edges_us[-1] = max(edges_us[-1], end_us)
        else:
            edges_us += (begin_us, end_us)
    if endless_us is not None:
        edges_us = _until(edges_us, endless_us)
    else:
        edges_us = [edge_us for edge_us in edges_us if edge_us <= horizon_us]
    # A union of beats may have no gap left: then nothing changes any more, and nothing comes again.
    if bisect_right(edges_us, steady_us) == len(edges_us):
        cycle_us = 0
    return Windows(tuple(edges_us), steady_us, cycle_us)


def _until(edges_us: list[int], endless_us: int) -> list[int]:
    """Return the edges before a wave that never ends, and the edge at which that wave begins."""
    before = edges_us[: bisect_right(edges_us, endless_us)]
    if before and before[-1] == endless_us:
        # Something ends or begins just here: either way the line is on from here on.
        before.pop()
    return before if len(before) % 2 else [*before, endless_us]


def _without_gaps(wave: Wave) -> Wave:
    """A beat that is as long as its repeat is one long interval."""
    if wave.every_us is None or wave.duration_us is None or wave.duration_us < wave.every_us:
        return wave
    length_us = None if wave.times is None else (wave.times - 1) * wave.every_us + wave.duration_us
    return Wave(wave.start_us, length_us)
