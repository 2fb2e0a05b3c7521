"""Trigger: how often a rule acts, among the units that its match covers.

A unit is a connection for stream and connection faults, a request for HTTP faults, a look-up for
name faults. The caller counts units from 0 and gives a seeded stream; nothing is remembered here.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.plan.shape import shown
from faultkit.rng import Rng


@dataclass(frozen=True, slots=True)
class Trigger:
    """The first `after` units are spared. Of those that follow, only the first `first` may be hit,
    and of these only each `every`-th (with 3: the third, the sixth …), with this probability."""

    probability: float = 1.0
    first: int | None = None
    after: int = 0
    every: int = 1

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

    @property
    def always(self) -> bool:
        """True if every unit is hit."""
        return self.probability == 1 and self.first is None and self.after == 0 and self.every == 1

    def fires(self, ordinal: int, rng: Rng) -> bool:
        """Whether unit `ordinal` is hit. It draws one number if chance has a say, else none."""
        since = ordinal - self.after
        if since < 0 or (self.first is not None and since >= self.first) or (since + 1) % self.every:
            return False
        return self.probability == 1 or rng.chance(self.probability)
