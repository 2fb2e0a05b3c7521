"""How far the clock of another machine is from this one's, from a few exchanges. Pure.

An exchange reads the other clock between two readings of this one. The other reading was taken at some moment
between these two, so it is known to half of the round trip; the exchange with the shortest one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

FEWEST = 5
"""Exchanges that are always made."""
MOST = 50
"""Exchanges at most, if those before were too slow."""
MOST_UNCERTAIN_S = 0.01


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The other clock minus this one, in seconds."""

    offset_s: float
    uncertain_s: float
    """It may be more or less by this much."""

    @property
    def usable(self) -> bool:
        return self.uncertain_s <= MOST_UNCERTAIN_S


SAME_CLOCK = ClockOffset(0.0, 0.0)


def measure_offset(theirs: Callable[[], float], ours: Callable[[], float]) -> ClockOffset:
    """Return the offset of a clock. Beyond `FEWEST` exchanges it stops as soon as the offset is usable."""
    best = ClockOffset(0.0, inf)
    for number in range(MOST):
        if number >= FEWEST and best.usable:
            break
        before = ours()
        there = theirs()
        after = ours()
        uncertain_s = (after - before) / 2
        if uncertain_s < best.uncertain_s:
            best = ClockOffset(there - (before + uncertain_s), uncertain_s)
    return best
