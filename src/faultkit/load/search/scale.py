"""The range of a setting that is searched: from its harmless end to its harmful one. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, isfinite, log, log10
from typing import Literal, TypeAlias

Spacing: TypeAlias = Literal["linear", "log"]

STEPS = 256
"""Parts into which a range is divided where nothing finer was asked for."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values. Positions run from 0 (harmless) to `steps` (harmful), values between the ends.

    The harmful end may be the smaller number: a bandwidth is searched downwards."""

    harmless: float
    harmful: float
    spacing: Spacing = "linear"
    resolution: float = 0.0
    """The least difference of values that means something; 0: a part in `STEPS` of the range, or 1 for whole
    numbers."""
    whole: bool = False
    """Whether only whole numbers are values."""

    def __post_init__(self) -> None:
        if not (isfinite(self.harmless) and isfinite(self.harmful)) or self.harmless == self.harmful:
            raise ValueError(f"range: expected two different numbers, got {self.shown}")
        if self.spacing == "log" and min(self.harmless, self.harmful) <= 0:
            raise ValueError(f"range: expected numbers above 0 for a log scale, got {self.shown}")
        if self.whole and 0 < self.resolution < 1:
            raise ValueError(f"resolution: expected at least 1 for whole numbers, got {self.resolution:g}")
        if self.whole and (self.harmless % 1 or self.harmful % 1):
            raise ValueError(f"range: expected whole numbers, got {self.shown}")

    @property
    def shown(self) -> str:
        return f"{self.harmless:g}..{self.harmful:g}"

    @property
    def steps(self) -> int:
        """How many parts the range has; a bracket of one part is as narrow as it gets."""
        if not self.resolution:
            wide = abs(self.harmful - self.harmless)
            return min(STEPS, int(wide)) if self.whole and self.spacing == "linear" else STEPS
        # On a logarithmic scale the parts at the small end are the narrowest.
        narrowest = min(abs(self._at(1 / STEPS) - self.harmless), abs(self.harmful - self._at(1 - 1 / STEPS)))
        return max(1, min(STEPS, ceil(STEPS * narrowest / self.resolution)))

    def value(self, position: float) -> float:
        """Return the value at a position."""
        part = position / self.steps
        if part in (0, 1):
            return self.harmful if part else self.harmless
        return float(round(self._at(part))) if self.whole else self.rounded(self._at(part))

    def _at(self, part: float) -> float:
        if self.spacing == "log":
            return exp(log(self.harmless) + part * (log(self.harmful) - log(self.harmless)))
        return self.harmless + part * (self.harmful - self.harmless)

    def rounded(self, value: float) -> float:
        """Return a value without the digits that mean nothing: those below a hundredth of a part."""
        width = abs(self.harmful - self.harmless) / STEPS / 100
        if self.spacing == "log":
            width = min(width, abs(value) / 10_000) or width
        return round(value, max(0, ceil(-log10(width)))) if width < 1 else float(round(value))
