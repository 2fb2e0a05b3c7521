"""What was measured of one item. Plain data: `measure` fills it, `assemble` reads it."""

from __future__ import annotations

from dataclasses import dataclass, field

from faultkit.load.samples import Sample
from faultkit.load.tally import Tally
from faultkit.proxy.lateness import Lateness
from faultkit.proxy.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Made:
    """One call of a single or repeat strategy, as it went."""

    sample: Sample
    baseline: bool
    stepped_value: float | None
    why_not: str | None
    """What of the expectation it missed."""


@dataclass(slots=True)
class Measured:
    faults: Tally = field(default_factory=Tally)
    baseline: Tally | None = None
    calls: list[Made] = field(default_factory=list)
    baseline_s: float = 0.0
    faults_s: float = 0.0
    before: Snapshot | None = None
    """The proxies' counts when the faults began."""
    missed: int = 0
    """Requests with the faults that missed the expectation."""
    first_miss: str | None = None
    lateness: Lateness = field(default_factory=Lateness)
    """Of the proxies' releases."""
    cut_short: bool = False
