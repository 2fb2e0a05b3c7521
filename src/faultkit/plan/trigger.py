"""Trigger: how often a rule acts, among the units that its match covers.

A unit is a connection for stream and connection faults, a request for HTTP faults, a look-up for name faults,
a call for call faults. The caller counts units from 0 and passes seeded random numbers; this module keeps no
state.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.documents.checks import shown
from faultkit.base.rng import Rng

MOST_BURST = 1000
"""The longest burst: each unit looks back at as many units at which an episode may have begun."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Which units are hit.

    The first `after` units are spared. Of those that follow, only the first `first` may be hit, and of these
    only each `every`-th (with 3: the third, the sixth …), with this probability. With a `burst` above 1, an
    episode begins at such a unit, and it hits so many units in a row."""

    probability: float = 1.0
    first: int | None = None
    after: int = 0
    every: int = 1
    burst: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.probability, bool) or not 0 <= self.probability <= 1:
            raise ValueError(f"probability: expected a number from 0 to 1, got {shown(self.probability)}")
        for name, value, least in (
            ("first", self.first, 1),
            ("after", self.after, 0),
            ("every", self.every, 1),
        ):
            if value is not None and value < least:
                raise ValueError(f"{name}: expected a whole number of at least {least}, got {shown(value)}")
        if not 1 <= self.burst <= MOST_BURST:
            raise ValueError(
                f"burst: expected a whole number from 1 to {MOST_BURST}, got {shown(self.burst)}"
            )

    @property
    def always(self) -> bool:
        """True if every unit is hit, and no count is needed to know it."""
        return self.probability == 1 and self.first is None and self.after == 0 and self.every == 1

    @property
    def lasts(self) -> bool:
        """True if every unit after the first hit one is hit too."""
        return self.probability == 1 and self.first is None and self.burst >= self.every

    def fires(self, ordinal: int, rng: Rng) -> bool:
        """Return whether unit `ordinal` is hit. Draws one number if that depends on chance, else none."""
        return self._may_begin(ordinal) and (self.probability == 1 or rng.chance(self.probability))

    def in_episode(self, ordinal: int, line: Rng) -> bool:
        """Return whether an episode that began at this unit or shortly before it hits this unit.

        `line` is common to all units: the number that begins an episode at a unit is drawn from a stream of
        that unit's own below it, so that the result for a unit never changes."""
        begins = range(ordinal, max(ordinal - self.burst, -1), -1)
        return any(
            self._may_begin(begin) and (self.probability == 1 or line.child(begin).chance(self.probability))
            for begin in begins
        )

    def _may_begin(self, ordinal: int) -> bool:
        since = ordinal - self.after
        return since >= 0 and (self.first is None or since < self.first) and (since + 1) % self.every == 0
