"""ChaosFault: a fault as it is registered; and what came of asking for it. Values only.

Why not `Rule(fault, trigger)` of the plan: seed 002 promises the fields of this class, `probability` among
them, and the sequence of its rolls. A roll here is keyed by seed, fault name and call id, so that a caller
can repeat one call; a Trigger rolls with other keys, so the same seed would give other results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from faultkit.base.documents.checks import mapping, shown
from faultkit.base.errors import InputError
from faultkit.chaos.effects.effect_table import InjectedFault as InjectedFault
from faultkit.chaos.effects.effect_table import InstantEffect, read_effect
from faultkit.chaos.effects.lasting_effect import StartableEffect, number

LONGEST_S = 86_400.0
LONGEST_NAME = 200
LONGEST_MESSAGE = 10_000


@dataclass(frozen=True, slots=True)
class ChaosFault:
    """A fault with a name. Raises InputError if a field is wrong."""

    name: str
    fault_type: str
    """One of the five of seed 002, or a fault of the vocabulary, which needs metadata.control."""
    probability: float = 0.1
    """Probability that one call triggers it."""
    duration_s: float = 0.0
    """How long latency and timeout delay the caller, and how long a lasting effect lasts (0: the default)."""
    error_message: str = "Injected fault"
    seed: int | str | None = None
    """None: the seed of the registry."""
    targets: tuple[str, ...] = ()
    """HOST:PORT of the hosts to cut off, or whose proxy is meant."""
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Settings of the effect. They may contain a token."""

    def __post_init__(self) -> None:
        _check_text(self.name, "name", LONGEST_NAME)
        if not self.name or self.name != self.name.strip() or not self.name.isprintable():
            problem = f"expected printable text without blanks around it, got {shown(self.name)}"
            raise InputError("name", problem)
        if not isinstance(self.fault_type, str) or not self.fault_type:
            raise InputError("fault_type", f"expected a type of fault, got {shown(self.fault_type)}")
        self._set("probability", float(number(self.probability, "probability", 0, 1)))
        self._set("duration_s", float(number(self.duration_s, "duration_s", 0, LONGEST_S)))
        _check_text(self.error_message, "error_message", LONGEST_MESSAGE)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | str | None):
            raise InputError("seed", f"expected a whole number or a text, got {shown(self.seed)}")
        if not isinstance(self.metadata, Mapping) or not all(isinstance(key, str) for key in self.metadata):
            raise InputError("metadata", f"expected a mapping of texts, got {shown(self.metadata)}")
        self._set("metadata", dict(self.metadata))
        self._set("targets", _read_targets(self.targets))
        self.effect()

    def effect(self) -> InstantEffect | StartableEffect:
        """Return what the fault does. Raises InputError if its settings do not fit its type."""
        return read_effect(self.fault_type, self.duration_s, self.targets, self.metadata)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def parse_chaos_fault(document: object) -> ChaosFault:
    """Return the fault of a YAML or JSON document. `duration_seconds` is seed 002's name of `duration_s`."""
    names = [each.name for each in fields(ChaosFault)]
    given = dict(mapping(document, (*names, "duration_seconds"), ""))
    if "duration_seconds" in given:
        if "duration_s" in given:
            raise InputError("duration_seconds", "expected it or duration_s, got both")
        duration_s = number(given.pop("duration_seconds"), "duration_seconds", 0, LONGEST_S)
        given["duration_s"] = duration_s
    for required in ("name", "fault_type"):
        if required not in given:
            raise InputError(required, "expected a text, got nothing")
    return ChaosFault(**given)  # type: ignore[arg-type]


def _check_text(value: object, path: str, longest: int) -> None:
    if not isinstance(value, str):
        raise InputError(path, f"expected a text, got {shown(value)}")
    if len(value) > longest:
        raise InputError(path, f"expected at most {longest} characters, got {len(value)}")


def _read_targets(value: object) -> tuple[str, ...]:
    if not isinstance(value, tuple | list):
        raise InputError("targets", f"expected a list of HOST:PORT, got {shown(value)}")
    for index, each in enumerate(value):
        if not isinstance(each, str) or not each:
            raise InputError(f"targets[{index}]", f"expected HOST:PORT, got {shown(each)}")
    return tuple(value)


# --- what came of it ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """What a triggered fault has done."""

    says: str
    """Description for people."""
    slept_s: float = 0.0
    """How long the caller was delayed, measured."""
    raised: str | None = None
    """Name of the exception that the caller met, or would meet."""
    message: str | None = None
    lasts_s: float = 0.0
    """How long the effect still goes on by itself, at most. 0: it is over."""
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Injection:
    """One call of a fault: the roll, and its effect."""

    fault: ChaosFault
    was_triggered: bool
    call: int | str
    """Number of the call, or the call_id that was given. With the seed it decides the roll."""
    roll: float
    """In [0, 1). A roll below the probability triggers the fault."""
    effect: Effect | None = None
    began: object = field(default=None, repr=False, compare=False)
    """The lasting effect that this call started, for `FaultRegistry.end`."""


@dataclass(frozen=True, slots=True)
class FaultState:
    """The state of a registered fault."""

    fault: ChaosFault
    seed: int | str
    active: bool
    """True while it delays a caller, or while its lasting effect is active."""
    calls: int
    times_triggered: int
    last_triggered_at: str | None
    """RFC 3339, in UTC."""
    ends_in_s: float | None = None
    """Seconds until the lasting effect ends by itself."""
    expires_in_s: float | None = None
    """Seconds until the fault is removed by itself."""
    trouble: str = ""
    """Why its last effect could not be undone."""
