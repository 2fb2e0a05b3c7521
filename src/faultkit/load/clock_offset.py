"""How far the clock of another machine is from this one's, from a few exchanges. Pure.

An exchange reads the other clock between two readings of this one. The other reading was taken at some moment
between these two, which bounds the offset on both sides. All exchanges together bound it best: the highest of
the lower bounds, and the lowest of the upper ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

FEWEST = 5
"""Exchanges that are always made."""
MOST = 100
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
        return 0 <= self.uncertain_s <= MOST_UNCERTAIN_S


SAME_CLOCK = ClockOffset(0.0, 0.0)


def measure_offset(theirs: Callable[[], float], ours: Callable[[], float]) -> ClockOffset:
    """Return the offset of a clock. Beyond `FEWEST` exchanges it stops as soon as the offset is usable.

    If the bounds contradict each other, a clock was set meanwhile: then the uncertainty is infinite."""
    low, high = -inf, inf
    for number in range(MOST):
        if number >= FEWEST and high - low <= 2 * MOST_UNCERTAIN_S:
            break
        before = ours()
        there = theirs()
        after = ours()
        low, high = max(low, there - after), min(high, there - before)
    return ClockOffset((low + high) / 2, (high - low) / 2 if low <= high else inf)
