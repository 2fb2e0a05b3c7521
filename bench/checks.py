"""One line of the fidelity card: the setting, the measured value and the allowed range. Pure values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Word: TypeAlias = Literal["PASS", "MISS", "–"]


@dataclass(frozen=True, slots=True)
class Check:
    group: str
    label: str
    requested: str
    measured: str
    """Texts for the card."""
    unit: str
    value: float
    """The measured value, in `unit`."""
    wanted: float | None = None
    """The value of a perfect proxy; None if there is no such value."""
    allowed: tuple[float | None, float | None] = (None, None)
    """Lower and upper bound of `value`; None: no bound on this side."""
    spread: tuple[float, float] | None = None
    """The spread of single values, or the confidence interval of the value."""
    judged: bool = True
    """Whether this is a target. Otherwise it is reported without a verdict."""

    @property
    def inside(self) -> bool:
        low, high = self.allowed
        return (low is None or self.value >= low) and (high is None or self.value <= high)

    @property
    def word(self) -> Word:
        if not self.judged:
            return "–"
        return "PASS" if self.inside else "MISS"

    def allowed_text(self) -> str:
        low, high = self.allowed
        if low is not None and high is not None:
            return f"{low:g} to {high:g} {self.unit}".rstrip()
        if low is not None:
            return f"≥ {low:g} {self.unit}".rstrip()
        if high is not None:
            return f"≤ {high:g} {self.unit}".rstrip()
        return "–"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.word}
