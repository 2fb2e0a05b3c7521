"""What came of asking for a fault, and how a registered fault stands: values for code, tools and logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from faultkit.chaos.faults import ChaosFault


@dataclass(frozen=True, slots=True)
class Effect:
    """What was really done."""

    says: str
    """For people."""
    slept_s: float = 0.0
    """How long the caller was kept, measured."""
    raised: str | None = None
    """The exception that befell the caller, or would have."""
    message: str | None = None
    lasts_s: float = 0.0
    """How long it still goes on by itself, at most. 0: it is over."""
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Injection:
    fault: ChaosFault
    was_triggered: bool
    call: int | str
    """The number of the call, or the call_id that was given: with the seed it decides."""
    roll: float
    """In [0, 1): it triggers if this is below the probability."""
    effect: Effect | None = None
    began: object = field(default=None, repr=False, compare=False)
    """The lasting effect that this call began, for `FaultRegistry.end`."""


@dataclass(frozen=True, slots=True)
class FaultState:
    """A registered fault."""

    fault: ChaosFault
    seed: int | str
    active: bool
    """It keeps a caller waiting just now, or its lasting effect is at work."""
    calls: int
    times_triggered: int
    last_triggered_at: str | None
    """RFC 3339, in UTC."""
    ends_in_s: float | None = None
    """When the lasting effect ends by itself."""
    expires_in_s: float | None = None
    """When the fault is removed by itself."""
    trouble: str = ""
    """Why its last effect could not be taken back."""
