"""ChaosFault: a fault as it is registered, the types of faults, and the result of an injection. Values only.

Latency, error and timeout are instant: a pause, an exception, or a pause and then an exception. They are
values here; `registered_fault` waits and raises. The lasting effects are in `faultkit.chaos.effects`.

A ChaosFault is not a `Rule(fault, trigger)` of a plan, because the original chaos tools define the fields of
this class, `probability` among them, and the sequence of its rolls. A roll here is keyed by seed, fault name
and call id, so that a caller can repeat one call; a Trigger rolls with other keys, so the same seed would
give other results.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from faultkit.base.documents.checks import mapping, shown
from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.chaos.effects.exhaustion_effect import read_exhaustion
from faultkit.chaos.effects.lasting_effect import StartableEffect, number
from faultkit.chaos.effects.partition_effect import read_partition
from faultkit.chaos.effects.rule_effect import read_rules
from faultkit.faults import FAULTS

LONGEST_S = 86_400.0
LONGEST_NAME = 200
LONGEST_MESSAGE = 10_000


# --- types -----------------------------------------------------------------------------------------


class InjectedFault(Exception):
    """The exception that an `error` fault raises. Its text is the fault's error_message."""


@dataclass(frozen=True, slots=True)
class InstantEffect:
    """An effect that is over when the affected call continues."""

    delay_s: float = 0.0
    raises: type[Exception] | None = None

    @property
    def changes_something(self) -> bool:
        """False for a delay of 0: the affected call does not notice it."""
        return self.delay_s > 0 or self.raises is not None


def _read_error(metadata: Mapping[str, object]) -> InstantEffect:
    """Return the effect of `error`: InjectedFault, or the built-in exception that `metadata.raises` names."""
    if "raises" not in metadata:
        return InstantEffect(raises=InjectedFault)
    name = metadata["raises"]
    found = getattr(builtins, name, None) if isinstance(name, str) else None
    if not isinstance(found, type) or not issubclass(found, Exception) or not _accepts_one_text(found):
        expected = "expected the name of a built-in exception such as ConnectionError"
        raise InputError("metadata.raises", f"{expected}, got {shown(name)}")
    return InstantEffect(raises=found)


def _accepts_one_text(kind: type[Exception]) -> bool:
    # UnicodeDecodeError, for example, takes five arguments.
    try:
        kind("text")
    except TypeError:
        return False
    return True


INSTANT: Mapping[str, Callable[[float, Mapping[str, object]], InstantEffect]] = {
    "latency": lambda duration_s, metadata: InstantEffect(delay_s=duration_s),
    "error": lambda duration_s, metadata: _read_error(metadata),
    "timeout": lambda duration_s, metadata: InstantEffect(delay_s=duration_s, raises=TimeoutError),
}
LASTING = {"resource_exhaustion": read_exhaustion, "network_partition": read_partition}
SPECIFIED_TYPES = (*INSTANT, *LASTING)
"""The five types of the original chaos tools."""
FAULT_TYPES = tuple(dict.fromkeys((*SPECIFIED_TYPES, *FAULTS)))


def read_effect(
    fault_type: str, duration_s: float, targets: tuple[str, ...], metadata: Mapping[str, object]
) -> InstantEffect | StartableEffect:
    """Return the effect of a fault type with these settings. Raises InputError that names the field.

    `latency` and `timeout` act on the caller, unless `metadata.control` names a proxy: then they are the
    network faults of the same names, like every other fault of the vocabulary.
    """
    if fault_type in LASTING:
        return LASTING[fault_type](targets, metadata)
    if fault_type in INSTANT and not (fault_type in FAULTS and "control" in metadata):
        if targets:
            raise InputError(
                "targets", f"expected none with {fault_type} unless metadata.control names a proxy"
            )
        return INSTANT[fault_type](duration_s, metadata)
    if fault_type in FAULTS:
        return read_rules(fault_type, targets, metadata)
    expected = f"expected one of {', '.join(SPECIFIED_TYPES)}, or a fault of `fault faults`"
    guess = did_you_mean(fault_type, FAULT_TYPES)
    raise InputError("fault_type", f"{expected}, got {shown(fault_type)}{guess}")


# --- faults ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChaosFault:
    """A fault with a name. Raises InputError if a field is wrong."""

    name: str
    fault_type: str
    """One of SPECIFIED_TYPES, or a fault of the vocabulary, which needs metadata.control."""
    probability: float = 0.1
    """Probability that one call triggers it."""
    duration_s: float = 0.0
    """Delay of the caller for latency and timeout; duration of a lasting effect (0: the default)."""
    error_message: str = "Injected fault"
    seed: int | str | None = None
    """None: the seed of the registry."""
    targets: tuple[str, ...] = ()
    """HOST:PORT of the hosts to cut off, or whose proxy carries out the fault."""
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
    """Return the fault of a YAML or JSON document. `duration_seconds` is another name of `duration_s`."""
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


# --- injections ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a triggered fault."""

    says: str
    """Description for people."""
    slept_s: float = 0.0
    """Measured delay of the caller."""
    raised: str | None = None
    """Name of the exception that the caller met, or would meet."""
    message: str | None = None
    lasts_s: float = 0.0
    """Longest time that the effect still lasts; 0: it is over."""
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
    lasting_effect: object = field(default=None, repr=False, compare=False)
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
