"""One line of the fidelity card: what was asked, what came, what is allowed. Pure values."""

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
    """Both for people."""
    unit: str
    value: float
    """What was measured, in `unit`."""
    wanted: float | None = None
    """What `value` would be if all were perfect; None where there is no such thing."""
    allowed: tuple[float | None, float | None] = (None, None)
    """Lower and upper bound of `value`; None: no bound on this side."""
    spread: tuple[float, float] | None = None
    """How far single values lie apart, or how sure the value is."""
    judged: bool = True
    """A target. Otherwise it is told, and no verdict is given."""

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
