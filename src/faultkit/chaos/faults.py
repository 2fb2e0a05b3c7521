"""ChaosFault: a fault as it is registered. A value, right once it is made; what it does is in `effects`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from faultkit.base.documents.shape import mapping, shown
from faultkit.base.errors import InputError
from faultkit.chaos.effects.instant import InjectedFault as InjectedFault
from faultkit.chaos.effects.instant import Instant
from faultkit.chaos.effects.lasting import Startable
from faultkit.chaos.effects.settings import number
from faultkit.chaos.effects.table import read_effect

LONGEST_S = 86_400.0
LONGEST_NAME = 200
LONGEST_MESSAGE = 10_000


@dataclass(frozen=True, slots=True)
class ChaosFault:
    """InputError if a field is wrong."""

    name: str
    fault_type: str
    """One of the seed's five, or one of the vocabulary: then metadata.control names who carries it out."""
    probability: float = 0.1
    """That one call of it triggers it."""
    duration_s: float = 0.0
    """How long latency and timeout keep the caller waiting, and how long a lasting effect lasts (0: as long
    as is usual)."""
    error_message: str = "Injected fault"
    seed: int | str | None = None
    """None: the registry's."""
    targets: tuple[str, ...] = ()
    """HOST:PORT, of those that are cut off or whose proxy is meant."""
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Settings of the effect. They may hold a token."""

    def __post_init__(self) -> None:
        _check_name(self.name)
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
        self._set("targets", _targets(self.targets))
        self.effect()

    def effect(self) -> Instant | Startable:
        return read_effect(self.fault_type, self.duration_s, self.targets, self.metadata)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def parse_chaos_fault(document: object) -> ChaosFault:
    """From what YAML or JSON gave. `duration_seconds` is what the seed calls `duration_s`."""
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


def _check_name(name: object) -> None:
    _check_text(name, "name", LONGEST_NAME)
    assert isinstance(name, str)
    if not name or name != name.strip() or not name.isprintable():
        raise InputError("name", f"expected printable text without blanks around it, got {shown(name)}")


def _check_text(value: object, path: str, longest: int) -> None:
    if not isinstance(value, str):
        raise InputError(path, f"expected a text, got {shown(value)}")
    if len(value) > longest:
        raise InputError(path, f"expected at most {longest} characters, got {len(value)}")


def _targets(value: object) -> tuple[str, ...]:
    if not isinstance(value, tuple | list):
        raise InputError("targets", f"expected a list of HOST:PORT, got {shown(value)}")
    for index, each in enumerate(value):
        if not isinstance(each, str) or not each:
            raise InputError(f"targets[{index}]", f"expected HOST:PORT, got {shown(each)}")
    return tuple(value)
